"""Query parameters of moderation, declared once for the API, the pages and degraded answers."""

from dataclasses import dataclass
from typing import Annotated

from litestar.params import QueryParameter

from assay.model.errors import Invalid
from assay.model.repository import RepositoryName
from assay.settings import Settings
from assay.submit.validate import parse_repository_url
from assay.web.submissions.query import SubmissionFilterParameters


@dataclass(frozen=True)
class ReviewListParameters(SubmissionFilterParameters):
    """The parameters of the review queue."""

    limit: Annotated[int, QueryParameter(ge=1, le=100, description="Submissions per page.")] = 50
    cursor: Annotated[str | None, QueryParameter(max_length=1000, description="`nextCursor` of the previous page.")] = (
        None
    )


@dataclass(frozen=True)
class BlocklistCheckParameters:
    """The parameters of a check against the blocklist; at least one is required."""

    name: Annotated[
        str | None, QueryParameter(max_length=300, description="The name of the skill, alone or as `owner/repo/skill`.")
    ] = None
    repo_url: Annotated[
        str | None,
        QueryParameter(name="repoUrl", max_length=500, description="The repository, given by any form of its URL."),
    ] = None
    digest: Annotated[
        str | None,
        QueryParameter(pattern="^sha256:[0-9a-f]{64}$", description="The content digest, such as `sha256:…`."),
    ] = None

    def repository(self, settings: Settings) -> RepositoryName | None:
        """Return the repository, if one is given; raise Invalid if no parameter is given at all."""
        if self.name is None and self.repo_url is None and self.digest is None:
            raise Invalid("Give at least one of name, repoUrl and digest.", code="nothing_to_check")
        return (
            parse_repository_url(self.repo_url, settings.github_web_url, settings.git_hosts)[0]
            if self.repo_url
            else None
        )
