"""Settings of the limits on callers, and of the proxies whose word about a caller is believed.

The defaults hold a registry on the internet: one address cannot use up the GitHub calls, the disk or the time of the
workers, and an author can submit a repository with hundreds of skills.
"""

import ipaddress
from typing import Annotated

from pydantic import Field, field_validator

from assay.settings.values import SettingsGroup, Words

UpperLimit = Annotated[int, Field(ge=0, le=1_000_000_000)]


class LimitSettings(SettingsGroup):
    trusted_proxies: Words = Field(
        (),
        description="Addresses or networks of reverse proxies, separated by commas. Only their `X-Forwarded-For` and"
        " `X-Forwarded-Proto` are believed: the caller is the last address that is not one of them. Without any,"
        " forwarded headers are ignored.",
    )
    limit_reads: UpperLimit = Field(
        1_200,
        description="Reads per minute of an address without an account, counted in each web process; 0 turns the limit"
        " off. People and build jobs stay far below it, even many behind one address.",
    )
    limit_writes: UpperLimit = Field(
        600,
        description="Requests per minute of an account that may change something, of any kind; 0 turns the limit off."
        " It bounds the load of programs that run wild; the limits below are lower.",
    )
    limit_writes_anonymous: UpperLimit = Field(
        120, description="The same for an address without an account; reports of installs and sign-ins count too."
    )
    limit_skills: UpperLimit = Field(
        5_000,
        description="Skills per hour that an account may submit; 0 turns the limit off. Each skill of a bulk request"
        " or of a whole repository counts. The largest repository that can be submitted has as many.",
    )
    limit_skills_anonymous: UpperLimit = Field(
        500,
        description="The same for an address without an account: enough for a repository with hundreds of skills. Each"
        " unknown repository costs about two of the 5,000 calls per hour that GitHub allows a token.",
    )
    limit_discover: UpperLimit = Field(
        300,
        description="Repositories per hour that an account may have searched for skills, to list them or to submit them"
        " all; 0 turns the limit off. Each costs a few calls to GitHub.",
    )
    limit_discover_anonymous: UpperLimit = Field(60, description="The same for an address without an account.")
    limit_uploads: UpperLimit = Field(
        300,
        description="Archives per hour that an account may upload; 0 turns the limit off. An archive is unpacked and"
        " stored at once; `ASSAY_UPLOAD_QUOTA_BYTES` limits how much is kept.",
    )
    upload_quota_bytes: int = Field(
        1024 * 1024 * 1024,
        ge=0,
        le=2**62,
        description="Bytes of files, uncompressed, that the uploads of a namespace may keep stored; 0 turns the quota"
        " off. The operator's namespace has none.",
    )
    limit_claims: UpperLimit = Field(
        30,
        description="Tokens, claims of namespaces and handles per hour that an account may create; 0 turns the limit"
        " off. People need a few; claims may ask GitHub.",
    )
    limit_rescans: UpperLimit = Field(
        20, description="Rescans per day that an account may request; 0 turns the limit off. Reviewers have none."
    )
    limit_appeals: UpperLimit = Field(
        10, description="Appeals per day of an account, each of which a person answers; 0 turns the limit off."
    )
    limit_reports: UpperLimit = Field(
        20, description="Security reports per day of an account; 0 turns the limit off. Reviewers have none."
    )
    limit_reports_anonymous: UpperLimit = Field(5, description="The same for an address without an account.")
    limit_open_reports_anonymous: UpperLimit = Field(
        100,
        description="Unanswered security reports without an account that a listing may have; 0 turns the limit off."
        " Reports of accounts are always accepted, so junk cannot silence them.",
    )
    limit_installs: UpperLimit = Field(
        500,
        description="Skills per day whose installs are counted for one account, or for one address without an account;"
        " 0 turns the limit off. More than the people behind one address install, and too few to change the order of a"
        " catalogue.",
    )
    limit_sign_in: UpperLimit = Field(
        5, description="Attempts to sign in per 15 minutes with one login from one address; 0 turns the limit off."
    )
    limit_sign_in_address: UpperLimit = Field(
        50, description="Attempts to sign in per 15 minutes from one address, with any login; 0 turns the limit off."
    )
    limit_token_percent: int = Field(
        80,
        ge=0,
        le=100,
        description="The part of an account's limits that one of its tokens may use, in percent, so that a program with"
        " a token cannot lock its owner out; 0 turns limits of tokens off. Requests with a token count for its account"
        " too.",
    )

    @field_validator("trusted_proxies")
    @classmethod
    def _check_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            try:
                ipaddress.ip_network(each)
            except ValueError:
                raise ValueError(f"{each!r} is not an address or a network like 10.0.0.0/8") from None
        return value

    @property
    def trusted_networks(self) -> list[str]:
        """The trusted proxies as networks; IPv4 ones also as a socket for IPv6 shows them."""
        networks = [ipaddress.ip_network(each) for each in self.trusted_proxies]
        mapped = [
            f"::ffff:{each.network_address}/{96 + each.prefixlen}"
            for each in networks
            if isinstance(each, ipaddress.IPv4Network)
        ]
        return [*map(str, networks), *mapped]
