"""Checks of text that people write."""

from assay.model.errors import Invalid

# PostgreSQL cannot store NUL in text.
WITHOUT_NUL = r"^[^\x00]*$"


def clean_statement(text: str, field: str, *, shortest: int, longest: int) -> str:
    """Remove unprintable characters except line breaks. Raises Invalid if the text is too short or too long."""
    lines = ["".join(each for each in line if each.isprintable()).rstrip() for line in text.splitlines()]
    cleaned = "\n".join(lines).strip()
    if not shortest <= len(cleaned) <= longest:
        raise Invalid(f"{field} must have {shortest} to {longest:,} characters.", code=f"bad_{field}")
    return cleaned
