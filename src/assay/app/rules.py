"""The rules that this registry works by."""

from assay.model.errors import Invalid
from assay.scan.ruleset import Ruleset
from assay.scan_pool.rule_folder import read_ruleset
from assay.settings import Settings, variable


def rules_of(settings: Settings) -> Ruleset:
    """The rules that ship, and those of the folder that the settings name. Raises `Invalid`, naming setting, file and
    rule, if they cannot be used.
    """
    try:
        return read_ruleset(settings.ruleset)
    except Invalid as problem:
        raise Invalid(f"{variable('ruleset')}: {problem.message}", code="bad_setting") from None
