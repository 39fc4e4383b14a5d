"""The sender of submissions: what all skills of one HTTP request have in common."""

from dataclasses import dataclass

from assay.model.account import Caller
from assay.model.errors import Invalid
from assay.model.submission import Origin
from assay.submit.admission import SubmissionRequest
from assay.submit.bulk import Item
from assay.submit.validate import parse_requested_skill


@dataclass(frozen=True)
class Sender:
    """Builds validated submission requests for one caller and origin."""

    caller: Caller
    origin: Origin
    web_url: str
    git_hosts: tuple[str, ...] = ()

    @property
    def submitter(self) -> str | None:
        """Return the account id, or None for an anonymous caller."""
        return str(self.caller.account_id) if self.caller.account_id else None

    @property
    def actor(self) -> str:
        """Return the name that the history shows."""
        return self.caller.name if self.caller.is_signed_in or self.caller.is_admin else self.origin.value

    def request(self, repo_url: str, name: str | None, path: str | None) -> SubmissionRequest:
        """Return a validated request, or raise Invalid."""
        requested = parse_requested_skill(repo_url, name, path, self.web_url, self.git_hosts)
        return SubmissionRequest(
            requested.repository,
            requested.skill_name,
            requested.skill_path,
            self.origin,
            self.submitter,
            self.actor,
            is_name_chosen=self.caller.is_admin,
        )

    def item(self, repo_url: str, name: str | None, path: str | None) -> Item:
        """Return a validated request, or the error as the result of this item of a batch."""
        try:
            return self.request(repo_url, name, path)
        except Invalid as error:
            return error
