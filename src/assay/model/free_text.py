"""What people write in their own words: bounded, and without characters that only confuse who reads it."""

from assay.model.errors import Invalid


def checked_statement(text: str, field: str, *, shortest: int, longest: int) -> str:
    """The text with line breaks and nothing else that cannot be seen. Raises Invalid if it is too short or too long."""
    lines = ["".join(each for each in line if each.isprintable()).rstrip() for line in text.splitlines()]
    said = "\n".join(lines).strip()
    if not shortest <= len(said) <= longest:
        raise Invalid(f"{field}: write {shortest} to {longest:,} characters.", code=f"bad_{field}")
    return said
