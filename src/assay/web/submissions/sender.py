"""Who sends a submission and by which way: what the requests of one HTTP request have in common."""

from dataclasses import dataclass

from assay.model.account import Caller
from assay.model.errors import Invalid
from assay.model.submission import Origin
from assay.submit.admission import Request
from assay.submit.bulk import Item
from assay.submit.validate import wanted_skill


@dataclass(frozen=True)
class Sender:
    """Makes checked requests from what a client wrote."""

    caller: Caller
    origin: Origin
    web_url: str
    git_hosts: tuple[str, ...] = ()

    @property
    def submitter(self) -> str | None:
        """The account, if somebody is signed in."""
        return str(self.caller.account_id) if self.caller.account_id else None

    @property
    def actor(self) -> str:
        """Who, in words for the history."""
        return self.caller.name if self.caller.is_signed_in or self.caller.is_admin else self.origin.value

    def request(self, repo_url: str, name: str | None, path: str | None) -> Request:
        """One checked request, or Invalid."""
        wanted = wanted_skill(repo_url, name, path, self.web_url, self.git_hosts)
        return Request(wanted.repository, wanted.skill_name, wanted.skill_path, self.origin, self.submitter, self.actor)

    def item(self, repo_url: str, name: str | None, path: str | None) -> Item:
        """The same for one of many, where what is wrong with it is its own affair."""
        try:
            return self.request(repo_url, name, path)
        except Invalid as problem:
            return problem
