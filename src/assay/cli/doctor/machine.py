"""Checks that need no database: secrets, disk, web process, judge, deep scans and rules."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import msgspec

from assay.app.app import read_rules
from assay.cage.run import CagedCommand, CageLimits, run_caged
from assay.cli.doctor.check import DoctorCheck, error, ok, unknown, warning
from assay.cli.scan_node import HOW_TO_INSTALL, tools_folder, tools_installed
from assay.model.errors import Invalid
from assay.scan_pool.rule_folder import custom_rule_ids
from assay.settings import SECRET_FIELDS, Settings, variable_name

LOW_DISK_BYTES = 2 * 1024**3
RESPONSE_SECONDS = 5
MAX_RESPONSE_BYTES = 1024 * 1024
CAGE_SECONDS = 30
# The real interpreter: the cage cannot read a virtual environment.
PYTHON = str(Path(sys.executable).resolve())
JUDGE, DEEP_SCANS, RULES = "judge", "deep scans", "rules"


def check_machine(settings: Settings) -> Iterator[DoctorCheck]:
    """Yield the checks of the secrets, the data directory and the web process."""
    yield _secrets(settings)
    yield _data_directory(settings)
    yield _web(settings)


def _secrets(settings: Settings) -> DoctorCheck:
    missing = [variable_name(name) for name in SECRET_FIELDS if getattr(settings, name) is None]
    if missing:
        return error("secrets", f"{', '.join(missing)}: not set", "Set them, or let `assay up` generate them.")
    return ok("secrets", "all are set")


def _data_directory(settings: Settings) -> DoctorCheck:
    folder = settings.data_dir
    if not folder.exists():
        return warning("data directory", f"{folder} does not exist yet", "`assay up` creates it.")
    if not os.access(folder, os.W_OK | os.X_OK):
        return error("data directory", f"{folder} is not writable", "Make it writable for the user who runs Assay.")
    free = shutil.disk_usage(folder).free
    if free < LOW_DISK_BYTES:
        advice = "Free some space: PostgreSQL stops when the disk is full."
        return error("data directory", f"only {free / 1024**2:,.0f} MB are free", advice)
    return ok("data directory", f"{folder}, {free / 1024**3:,.0f} GB free")


def _web(settings: Settings) -> DoctorCheck:
    """Check the web process over HTTP, at its public address."""
    url = f"{settings.base_url}/readyz"
    advice = "Start `assay up` or `assay web`, or correct ASSAY_PUBLIC_URL."
    try:
        with urlopen(url, timeout=RESPONSE_SECONDS) as response:  # noqa: S310 - the address is one of our settings
            response.read(MAX_RESPONSE_BYTES)
    except HTTPError as problem:
        detail = f"{url} responds with {problem.code}: {_failed_checks(problem)}"
        return error("web", detail, "Resolve the failed readiness checks.")
    except (URLError, TimeoutError, OSError) as problem:
        return warning("web", f"{url} does not respond: {getattr(problem, 'reason', problem)}", advice)
    except ValueError as problem:
        return unknown("web", str(problem))
    return ok("web", f"{settings.base_url} is ready")


def _failed_checks(problem: HTTPError) -> str:
    try:
        checks = msgspec.json.decode(problem.read(MAX_RESPONSE_BYTES))["checks"]
        return "; ".join(f"{check['name']}: {check['detail']}" for check in checks if not check["ok"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return "no reason given"


def check_judge(settings: Settings) -> DoctorCheck:
    """Check that the judge has a budget with prices: without either, spending is not limited."""
    if settings.llm_url is None:
        return ok(JUDGE, "not configured: rules and reviewers decide")
    is_priced = settings.llm_prompt_price > 0 or settings.llm_completion_price > 0
    if settings.llm_daily_budget is None:
        return warning(JUDGE, f"{settings.llm_model} has no daily budget", "Set ASSAY_LLM_DAILY_BUDGET.")
    if not is_priced:
        advice = "Set ASSAY_LLM_PROMPT_PRICE and ASSAY_LLM_COMPLETION_PRICE, unless the model is free of charge."
        return warning(JUDGE, f"{settings.llm_model} has no price, so its daily budget has no effect", advice)
    return ok(JUDGE, f"{settings.llm_model}, at most {settings.llm_daily_budget:g} per day")


async def check_deep_scans(settings: Settings) -> DoctorCheck:
    """Check that a scan node on this machine could run the configured tools in the cage."""
    if not settings.deep_scan_tools:
        return ok(DEEP_SCANS, "turned off")
    if not tools_installed(settings):
        advice = f"{HOW_TO_INSTALL}, here or on another machine."
        return warning(DEEP_SCANS, f"no scan tools in {tools_folder(settings)}", advice)
    no_op = CagedCommand([PYTHON, "-I", "-c", ""], Path("/"))
    ended = await run_caged(no_op, CageLimits(wall_seconds=CAGE_SECONDS))
    if not ended.was_caged:
        advice = "Allow the process to create user namespaces or to use seccomp; see docs/deepscan.md."
        detail = f"this machine cannot keep tools from using the network: {_reasons(ended.refused)}"
        return error(DEEP_SCANS, detail, advice)
    if ended.refused:
        advice = "The other restrictions apply; allow these for complete protection."
        return warning(
            DEEP_SCANS, f"the kernel refuses some restrictions of the cage: {_reasons(ended.refused)}", advice
        )
    return ok(DEEP_SCANS, f"the tools are in {tools_folder(settings)}, and the cage is complete")


def _reasons(refused: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in refused.items())


def check_rules(settings: Settings) -> DoctorCheck:
    """Check that the rules in the configured folder can be read."""
    try:
        rules = read_rules(settings)
    except Invalid as problem:
        advice = "Correct the rule: no process starts with it. `assay rules test FOLDER` shows details."
        return error(RULES, problem.message, advice)
    if settings.ruleset is None:
        return ok(RULES, f"{len(rules.rules):,} built-in rules, {rules.version}")
    own = len(custom_rule_ids(settings.ruleset))
    return ok(RULES, f"{len(rules.rules):,} rules, {own:,} of them from {settings.ruleset}, {rules.version}")
