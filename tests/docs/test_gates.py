"""Project rules that are checked on files."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PRODUCT, TESTS = ROOT / "src" / "assay", ROOT / "tests"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Hyperscan has no wheel for some platforms; the fallback engine is tested there.
MAY_BE_MISSING = {
    "tests/scan_pool/test_pool.py": {"importorskip"},
    "tests/scan_pool/test_saved_engine.py": {"importorskip"},
}
PASSED_OVER = {"skip", "skipif", "xfail", "importorskip"}


def test_ci_runs_tests_lint_and_types() -> None:
    """G101."""
    run = (ROOT / ".ci" / "run").read_text().splitlines()
    assert "set -euo pipefail" in run
    assert [line for line in run if line.startswith("make ")] == ["make test", "make lint", "make types"]
    assert PROJECT["tool"]["mypy"]["strict"] is True
    assert "error" in PROJECT["tool"]["pytest"]["ini_options"]["filterwarnings"]


def test_no_test_is_skipped_or_mocked() -> None:
    """G101."""
    for file in TESTS.rglob("*.py"):
        name, tree = str(file.relative_to(ROOT)), ast.parse(file.read_text())
        named = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert named & PASSED_OVER <= MAY_BE_MISSING.get(name, set()), name
        assert imported.isdisjoint({"unittest.mock", "unittest", "sqlite3", "aiosqlite"}), name


def test_packages_are_documented_and_layered() -> None:
    """G102: every package is in the diagram and in the import contract."""
    rooms = {path.stem for path in PRODUCT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    rooms -= {"__init__", "__main__"}
    story = next(each for each in PROJECT["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    assert {room.strip() for layer in story["layers"] for room in layer.split("|")} == rooms
    picture = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    assert rooms - set(re.findall(r"\w+", picture)) == set()


def test_no_test_module_imports_another() -> None:
    """Helpers live in tests/support."""
    shared = re.compile(r"^\s*from tests\.(?!support\b)[\w.]+ import|^\s*import tests\.(?!support\b)", re.MULTILINE)
    assert [str(file.relative_to(ROOT)) for file in TESTS.rglob("*.py") if shared.search(file.read_text())] == []
