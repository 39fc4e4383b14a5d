"""Where a skill is: the root that its files are counted from, and its folder below that."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Root:
    """The working directory, another folder, an archive, or a repository at a commit.

    `label` is what people see and `uri` what programs open; the working directory has neither, since whoever reads a
    result there is in it. An archive has no `uri`, since nothing opens a file in one, and neither has a repository of
    another host than GitHub, since each calls the page of a file differently.
    """

    label: str = ""
    uri: str | None = None
    repository: str | None = None
    commit: str | None = None


WORKING_DIRECTORY = Root()


@dataclass(frozen=True)
class Place:
    """A folder of a root; empty for the root itself."""

    root: Root
    folder: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.root.label, self.folder))) or "."

    def path_of(self, file: str) -> str:
        """A file of the folder, counted from the root."""
        return f"{self.folder}/{file}" if self.folder else file
