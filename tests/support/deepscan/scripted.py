"""A scan tool for tests: a small program that finds words and misbehaves on command of a skill."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from assay.deepscan.tool import Tool, ToolFailed, ToolReport
from assay.model.deep_scan import DeepTool
from assay.model.finding import Finding, Severity

PROGRAM = """
import json, os, sys, time
found = []
for folder, _, names in sorted(os.walk(".")):
    for name in sorted(names):
        path = os.path.join(folder, name)
        for number, line in enumerate(open(path, errors="replace").read().splitlines(), 1):
            if "CRASH" in line: os.abort()
            if "HANG" in line: time.sleep(600)
            if "BABBLE" in line: print("no json"); sys.exit(0)
            if "FIND" in line: found.append([path[2:], number, line.split("FIND ")[1].split()[0]])
print(json.dumps(found))
"""
CANARY = ("canary.txt", b"FIND low")


def a_tool(name: DeepTool = DeepTool.SEMGREP, version: str = "1.0", program: str = PROGRAM) -> Tool:
    """Return a tool that finds lines with `FIND severity`."""
    python = str(Path(sys.executable).resolve())
    return Tool(
        name=name,
        version=version,
        program=lambda _workspace: [python, "-I", "-c", program],
        read=_read,
        success_codes=frozenset({0}),
        kinds=None,
        canary=CANARY,
    )


def a_finding(severity: Severity, line: int = 1) -> Finding:
    return Finding(f"test.{severity}", "test", severity, 0.95, "", line, "", "Found it.", "Remove it.")


def without_canary(tool: Tool) -> Tool:
    """Return the tool with a canary that it does not find."""
    return replace(tool, canary=("canary.txt", b"nothing"))


def _read(output: bytes) -> ToolReport:
    try:
        decoded = json.loads(output)
    except ValueError:
        raise ToolFailed("its report cannot be read") from None
    return ToolReport([(path, a_finding(Severity(severity), line)) for path, line, severity in decoded])
