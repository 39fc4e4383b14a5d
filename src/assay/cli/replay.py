"""`assay replay`: apply a ruleset to all published skills before it is activated."""

from uuid import UUID

from assay import settings
from assay.app.app import open_app, read_rules
from assay.app.maintenance import open_replay
from assay.cli.process.stopping import run_command
from assay.cli.scan.rulesets import RulesetFolder
from assay.cli.ui.logs import configure_logs
from assay.cli.ui.options import AsJson
from assay.cli.ui.progress import progress_bar
from assay.cli.ui.terminal import open_console, print_json, print_line
from assay.maintenance.replay_ruleset import Replayed
from assay.scan.ruleset import Ruleset
from assay.scan_pool.rule_folder import read_ruleset
from assay.settings import Settings
from assay.store.scans.replays import Flip, list_flips
from assay.store.skills.counts import count_skills

PAGE = 500


def replay(ruleset: RulesetFolder = None, as_json: AsJson = False) -> None:
    """List the published skills that a ruleset would not approve, without changing them.

    Without --ruleset, this applies the built-in rules of this release and those in ASSAY_RULESET: run it before you
    upgrade the workers. It resumes if interrupted.

    Example: assay replay --ruleset ./rules
    """
    configure_logs("replay")
    config = settings.read()
    rules = read_ruleset(ruleset) if ruleset else read_rules(config)
    # The replayed rules replace those of the settings.
    done, flips = run_command(_replay(config.model_copy(update={"ruleset": None}), rules))
    if as_json:
        print_json(_document(rules, done, flips))
        return
    console = open_console()
    for flip in flips:
        print_line(
            console, f"{flip.name} {flip.version}: {flip.decision}, {flip.score_now} → {flip.score}. {flip.reason}"
        )
    unreadable = f", {done.unreadable:,} could not be read" if done.unreadable else ""
    print(f"{len(flips):,} published skills would no longer be approved; {done.scanned:,} scanned now{unreadable}.")


async def _replay(config: Settings, rules: Ruleset) -> tuple[Replayed, list[Flip]]:
    async with open_app(config, application="assay replay") as app:
        async with app.store.begin() as db:
            total = await count_skills(db)
        with progress_bar(open_console(stderr=True), "Listings", total) as advance:
            done = await open_replay(app).run(rules, progress=advance)
        flips: list[Flip] = []
        after: UUID | None = None
        while True:
            async with app.store.begin() as db:
                page = await list_flips(db, rules.version, after, PAGE)
            flips += page
            if len(page) < PAGE:
                return done, flips
            after = page[-1].skill_id


def _document(rules: Ruleset, done: Replayed, flips: list[Flip]) -> dict[str, object]:
    return {
        "ruleset": rules.version,
        "scanned": done.scanned,
        "unreadable": done.unreadable,
        "flips": [
            {
                "name": each.name,
                "version": each.version,
                "contentDigest": each.digest,
                "score": each.score_now,
                "newScore": each.score,
                "newDecision": each.decision.value,
                "reason": each.reason,
            }
            for each in flips
        ],
    }
