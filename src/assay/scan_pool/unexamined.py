"""The report on a skill that could not be looked at: nothing is known of it, so a person looks."""

from assay.model.finding import Report
from assay.scan.checks.unexamined import unexamined as not_examined
from assay.scan_pool.frame import Ready


def unexamined(by: Ready, digest: str, why: str) -> Report:
    """A report that is neither for the skill nor against it."""
    finding = not_examined("SKILL.md", why)
    return Report(
        engine=by.engine,
        ruleset=by.ruleset,
        digest=digest,
        findings=(finding,),
        # It may have some: nobody has seen that it has none.
        has_code=True,
        duration_ms=0.0,
    )
