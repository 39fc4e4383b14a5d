"""Submissions as people name them: by id, or by the address of their page."""

from uuid import UUID

from assay.model.errors import Invalid

PAGE = "/submissions/"


def read_ids(texts: list[str]) -> list[UUID]:
    """The ids, each once, in the order they were given."""
    return list(dict.fromkeys(map(read_id, texts)))


def read_id(text: str) -> UUID:
    """A whole id; Invalid if it is a part of one, or something else."""
    written = text.partition(PAGE)[2].rstrip("/") if PAGE in text else text
    try:
        return UUID(written)
    except ValueError:
        raise Invalid(f"{text!r} is neither the id of a submission nor the address of its page.") from None
