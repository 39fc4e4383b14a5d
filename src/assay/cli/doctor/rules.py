"""What the doctor sees of the rules: whether they can be read, and whether all processes work by them."""

from assay.app.rules import rules_of
from assay.cli.doctor.check import Check, ill, odd, well
from assay.model.errors import Invalid
from assay.scan.ruleset import Ruleset
from assay.scan_pool.rule_folder import own_rule_ids
from assay.serve.operations.alarms import is_alive
from assay.serve.queue.health import QueueHealth
from assay.settings import Settings

NAME = "rules"


def check_rules(settings: Settings) -> Check:
    """Without a database: the folder and every rule in it."""
    try:
        rules = rules_of(settings)
    except Invalid as problem:
        return ill(
            NAME, problem.message, "Correct it: no process starts with it. `assay rules test FOLDER` tells more."
        )
    if settings.ruleset is None:
        return well(NAME, f"{len(rules.rules):,} that ship, {rules.version}")
    own = len(own_rule_ids(settings.ruleset))
    return well(NAME, f"{len(rules.rules):,}, of which {own:,} are of {settings.ruleset}, {rules.version}")


def check_running_rules(health: QueueHealth, ruleset: Ruleset) -> Check:
    """That processes differ from each other is an alarm; that all differ from this command is seen only here."""
    facts = health.facts
    alive = [each for each in facts.processes if each.ruleset and is_alive(each, facts.now, health.limits)]
    others = {each.ruleset for each in alive if each.ruleset} - {ruleset.version}
    if others:
        advice = "Set ASSAY_RULESET for this command as for them, or restart them: rules are read at the start."
        return odd("running rules", f"processes work by others than this command: {', '.join(sorted(others))}", advice)
    return well("running rules", f"{len(alive):,} processes work by them")
