"""What stands before main, and what the tree promises: looked at as files, because it is a promise about files."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PRODUCT, TESTS = ROOT / "src" / "assay", ROOT / "tests"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# The engine has no wheel for some platforms; what is tested there is the one that takes its place.
MAY_BE_MISSING = {
    "tests/scan_pool/test_pool.py": {"importorskip"},
    "tests/scan_pool/test_saved_engine.py": {"importorskip"},
}
PASSED_OVER = {"skip", "skipif", "xfail", "importorskip"}


def test_nothing_reaches_main_that_fails_a_gate() -> None:
    """G101: tests, lint and strict types run on every change, and the first that fails ends the run."""
    run = (ROOT / ".ci" / "run").read_text().splitlines()
    assert "set -euo pipefail" in run
    assert [line for line in run if line.startswith("make ")] == ["make test", "make lint", "make types"]
    assert PROJECT["tool"]["mypy"]["strict"] is True
    assert "error" in PROJECT["tool"]["pytest"]["ini_options"]["filterwarnings"]


def test_no_test_is_passed_over_and_none_has_a_false_database() -> None:
    """G101: no test is known to fail, and nothing of the registry is replaced by something that only looks like it."""
    for file in TESTS.rglob("*.py"):
        name, tree = str(file.relative_to(ROOT)), ast.parse(file.read_text())
        named = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert named & PASSED_OVER <= MAY_BE_MISSING.get(name, set()), name
        assert imported.isdisjoint({"unittest.mock", "unittest", "sqlite3", "aiosqlite"}), name


def test_the_tree_has_the_rooms_that_the_story_names() -> None:
    """G102: every room is in the picture of the tree and in the order of imports, and there is none besides."""
    rooms = {path.stem for path in PRODUCT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    rooms -= {"__init__", "__main__"}
    story = next(each for each in PROJECT["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    assert {room.strip() for layer in story["layers"] for room in layer.split("|")} == rooms
    picture = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    assert rooms - set(re.findall(r"\w+", picture)) == set()
