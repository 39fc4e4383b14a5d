"""The pre-commit hook and the GitHub Action match the command line."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cli.here import accepted
from tests.support.cli.live import without_settings
from tests.support.cli.skills_here import written
from tests.support.skills import a_bad_skill, a_skill

ROOT = Path(__file__).parent.parent.parent
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
SCANNING = (ROOT / "docs" / "scanning.md").read_text()


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hook_is_a_valid_command(hook: dict[str, Any]) -> None:
    """It scans whole skills, not the changed files."""
    params = accepted([*shlex.split(hook["entry"]), *hook["args"]])
    assert params["what"] == ["."]
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)


def test_action_downloads_only_locked_packages() -> None:
    """No package hosts and no third-party actions."""
    for name in ("action.yml", ".pre-commit-hooks.yaml"):
        assert "://" not in (ROOT / name).read_text()
    assert [step for step in STEPS.values() if "uses" in step] == []
    install = STEPS["Install Assay"]["run"]
    files = re.findall(r"\$GITHUB_ACTION_PATH/([\w.-]+)", install)
    assert files == ["requirements.lock"]
    assert (ROOT / "requirements.lock").exists()
    assert "--require-hashes" in install


def test_action_inputs_are_passed_as_variables() -> None:
    """Interpolating pull request text into a script would run it; every input is declared and used."""
    scan = STEPS["Scan"]
    assert all("${{" not in step["run"] for step in STEPS.values())
    used = [re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)[1] for value in scan["env"].values()]
    assert sorted(used) == sorted(ACTION["inputs"])
    assert all(f"${name}" in scan["run"] for name in scan["env"])


def run_action(folder: Path, **inputs: str) -> tuple[int, dict[str, str], str]:
    """Run the scan step like a runner and return exit code, outputs and log."""
    script = folder / "runner" / "assay" / "bin" / "assay"
    script.parent.mkdir(parents=True, exist_ok=True)
    if not script.exists():
        script.symlink_to(Path(sys.executable).parent / "assay")
    outputs = folder / "outputs"
    outputs.write_text("")
    defaults = {name: given["default"] for name, given in ACTION["inputs"].items()} | inputs
    names = {f"SCAN_{name.upper().replace('-', '_')}": value for name, value in defaults.items()}
    ran = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS["Scan"]["run"]],
        cwd=folder / "checkout",
        env=without_settings(RUNNER_TEMP=str(folder / "runner"), GITHUB_OUTPUT=str(outputs), **names),
        capture_output=True,
        text=True,
    )
    return (
        ran.returncode,
        dict(line.split("=", 1) for line in outputs.read_text().splitlines()),
        ran.stdout + ran.stderr,
    )


@pytest.mark.process
def test_action_writes_sarif_and_fails_the_job(tmp_path: Path) -> None:
    """The results are available even if the job fails."""
    written(tmp_path / "checkout" / "my skills" / "steal", a_bad_skill())
    written(tmp_path / "checkout" / "greet", {"SKILL.md": a_skill()})
    code, outputs, printed = run_action(tmp_path, path="my skills\n\ngreet\n")
    assert (code, outputs) == (1, {"sarif": "assay.sarif", "exit-code": "1"}), printed
    assert "2 skills: 1 pass, 0 concerns, 1 fail." in printed
    log = json.loads((tmp_path / "checkout" / "assay.sarif").read_text())
    assert log["runs"][0]["results"]
    assert run_action(tmp_path, path="greet; touch pwned", **{"fail-on": "never"})[0] == 2
    assert not (tmp_path / "checkout" / "pwned").exists()


def test_documented_examples_match_the_action_and_hooks() -> None:
    examples = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", SCANNING, re.DOTALL)]
    action = next(step for example in examples for step in example.get("steps", []) if step.get("id") == "assay")
    assert set(action["with"]) <= set(ACTION["inputs"])
    assert set(re.findall(r"steps\.assay\.outputs\.([\w-]+)", SCANNING)) <= set(ACTION["outputs"])
    (hook,) = next(example for example in examples if "repos" in example)["repos"][0]["hooks"]
    entries = {each["id"]: each["entry"] for each in HOOKS}
    accepted([*shlex.split(entries[hook["id"]]), *hook["args"]])
    calls = re.findall(r"^assay .*", SCANNING + (ROOT / "docs" / "cli.md").read_text(), re.MULTILINE)
    understood = [accepted(shlex.split(call, comments=True)) for call in calls]
    assert len(understood) > 10
