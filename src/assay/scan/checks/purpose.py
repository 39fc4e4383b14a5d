"""Purpose: what a skill says it is for, as far as that changes what its content means.

A handbook of attacks quotes attacks. That it says so makes us less sure of what such a handbook would quote anyway,
and of nothing else: it may not give the agent orders of its own.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

_HEAD_BYTES = 4096
_FRONT_MATTER = re.compile(rb"\A\s{0,8}---[ \t]*\n(.*?)^---", re.DOTALL | re.MULTILINE)
_ABOUT = re.compile(rb"^(?:name|description|title|tags|category|topic):(?:[^\n]*(?:\n[ \t-][^\n]*)*)", re.MULTILINE)
_HEADING = re.compile(rb"^#\s+([^\n]{1,120})", re.MULTILINE)
_SECURITY = re.compile(
    rb"secur|pen-?test|penetration|red.?team|blue.?team|vulnerab|exploit|malware|threat|\battack|forensic|incident"
    rb"|offensive|hacking|\bctf\b|injection|\bxss\b|sqli|\brecon|osint|phish|ransom|\bsoc\b|siem|\byara\b|\bsigma\b"
    rb"|hunting|harden|adversar|bug.?bounty|\bcve|reverse.engineer|intrusion|lateral|exfil|cyber|\bc2\b|mitre|\bburp"
    rb"|fuzz|jailbreak|guardrail|detect|privilege|evasion|bypass|owasp|zero.?trust|cryptograph|deobfuscat|wireless"
    rb"|malicious|suspicious|untrusted|\bvet(?:s|ting)?\b|supply.chain|\bcompromis|\bbreach|\bhijack|stealer",
    re.IGNORECASE,
)
# Handbooks are long: quoting an attack says less in a text where it is one of many than where it is half of it.
_PROMINENT_BYTES = 6_000
_HANDBOOK_BYTES = 4_000
_LEAST = 0.2


@dataclass(frozen=True)
class Purpose:
    """The folded SKILL.md, which says what the skill is for, and how much text the skill has."""

    skill_md: bytes
    size: int

    @cached_property
    def is_security(self) -> bool:
        """Whether it says at its top that it is about security."""
        head = self.skill_md[:_HEAD_BYTES]
        block = _FRONT_MATTER.match(head)
        said = b" ".join(_ABOUT.findall(block[1])) if block else head[:400]
        heading = _HEADING.search(head)
        return bool(_SECURITY.search(said) or (heading and _SECURITY.search(heading[1])))

    @property
    def prominence(self) -> float:
        """How much one thing in so much text stands out, at most 1."""
        return max(_LEAST, min(1.0, sqrt(_PROMINENT_BYTES / max(self.size, 1))))

    @property
    def handbook(self) -> float:
        """How much an attack that is quoted here still is one, at most 1."""
        return max(_LEAST / 2, min(1.0, _HANDBOOK_BYTES / max(self.size, 1)))
