"""The stated purpose of a skill, as far as it changes the confidence of findings.

A handbook of attacks quotes attacks. If a skill says that it is about security, matches that such a handbook would
quote get a lower confidence, and no others: a handbook has no reason to give orders to the agent.
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
# Handbooks are long: an attack that is one of many quotations means less than one that is half of the text.
_PROMINENT_BYTES = 6_000
_HANDBOOK_BYTES = 4_000
_LEAST = 0.2


@dataclass(frozen=True)
class SkillPurpose:
    """The folded SKILL.md, which states the purpose, and the total size of the skill's text in bytes."""

    skill_md: bytes
    size: int

    @cached_property
    def is_security(self) -> bool:
        """True if the front matter or the first heading says that the skill is about security."""
        head = self.skill_md[:_HEAD_BYTES]
        block = _FRONT_MATTER.match(head)
        about = b" ".join(_ABOUT.findall(block[1])) if block else head[:400]
        heading = _HEADING.search(head)
        return bool(_SECURITY.search(about) or (heading and _SECURITY.search(heading[1])))

    @property
    def prominence(self) -> float:
        """The factor for weak signs, at most 1: the more text, the less one of them stands out."""
        return max(_LEAST, min(1.0, sqrt(_PROMINENT_BYTES / max(self.size, 1))))

    @property
    def handbook(self) -> float:
        """The factor for quoted attacks in a skill about security, at most 1: the more text, the lower."""
        return max(_LEAST / 2, min(1.0, _HANDBOOK_BYTES / max(self.size, 1)))
