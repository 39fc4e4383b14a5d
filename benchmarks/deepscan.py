"""Deep scans per minute: many skills per run of a tool, compared with one run per skill.

    python -m benchmarks.deepscan [--skills 200] [--batch 50] [--singles 3] [--tools semgrep,njsscan,kingfisher]

Every skill has a Python, a JavaScript and a shell file beside its text, so that every tool examines every skill. Only a
few runs with one skill are measured; their median is multiplied by the number of skills. Both variants run in the cage,
one after the other. The ratios are given for wall time, and for CPU time in case the machine is shared.
"""

import argparse
import asyncio
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from assay.cage.run import CageLimits
from assay.deepscan.batch import prepare, scan_batch
from assay.deepscan.install import default_folder
from assay.deepscan.tool import Tool
from assay.deepscan.tools.installed import find_tools
from assay.deepscan.workspace import SkillFiles
from assay.model.deep_scan import DeepStatus

CORES = 2
LIMITS = CageLimits(wall_seconds=3000, cpu_seconds=3000)
PYTHON = """import json
import subprocess


def read_{number}(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.strip()]


def convert_{number}(source, target):
    subprocess.run(["convert", source, target], check=True)
"""
JAVASCRIPT = """const fs = require('fs')

function summary{number}(path) {{
  const rows = fs.readFileSync(path, 'utf8').split('\\n')
  return rows.filter((row) => row.length > 0).map((row) => JSON.parse(row))
}}

module.exports = {{ summary{number} }}
"""
SHELL = """#!/bin/bash
set -euo pipefail
for file in "$@"; do
  sort "$file" | uniq -c > "$file.{number}.txt"
done
"""


@dataclass(frozen=True)
class Cost:
    """Wall and CPU time in seconds."""

    wall: float
    cpu: float


def skills(number: int) -> list[SkillFiles]:
    """Return distinct ordinary skills."""
    return [
        SkillFiles(
            f"skill-{each}",
            {
                "SKILL.md": f"# Skill {each}\n\nSummarises files of kind {each}.\n".encode(),
                "scripts/read.py": PYTHON.format(number=each).encode(),
                "scripts/summary.js": JAVASCRIPT.format(number=each).encode(),
                "scripts/count.sh": SHELL.format(number=each).encode(),
            },
        )
        for each in range(number)
    ]


async def measure(number: int, batch: int, singles: int, wanted: Sequence[str]) -> dict[str, float]:
    """Return the figures of each tool, and of all together."""
    tools = [tool for tool in find_tools(default_folder(), jobs=CORES) if tool.name.value in wanted]
    assert tools, "The scan tools are not installed: run `make deepscan`."
    figures: dict[str, float] = {}
    many, one = Cost(0, 0), Cost(0, 0)
    for tool in tools:
        await prepare(tool, LIMITS)
        batched = await _batches(tool, skills(number), batch)
        alone = await _alone(tool, skills(singles), number)
        many = Cost(many.wall + batched.wall, many.cpu + batched.cpu)
        one = Cost(one.wall + alone.wall, one.cpu + alone.cpu)
        figures |= _figures(tool.name.value, number, batched, alone)
    return figures | _figures("all tools", number, many, one)


async def _batches(tool: Tool, all_skills: list[SkillFiles], batch: int) -> Cost:
    started = _now()
    for begin in range(0, len(all_skills), batch):
        await _scan(tool, all_skills[begin : begin + batch])
    return _since(started)


async def _alone(tool: Tool, few: list[SkillFiles], number: int) -> Cost:
    costs = []
    for skill in few:
        started = _now()
        await _scan(tool, [skill])
        costs.append(_since(started))
    return Cost(median(cost.wall for cost in costs) * number, median(cost.cpu for cost in costs) * number)


async def _scan(tool: Tool, some: list[SkillFiles]) -> None:
    scanned = await scan_batch(tool, some, LIMITS)
    wrong = {name: result for name, result in scanned.results.items() if result.status is not DeepStatus.CLEAN}
    assert not wrong, wrong


def _figures(name: str, number: int, batched: Cost, alone: Cost) -> dict[str, float]:
    return {
        f"{name}: deep scans a minute, in batches": number / batched.wall * 60,
        f"{name}: deep scans a minute, one start a skill": number / alone.wall * 60,
        f"{name}: in batches / one start a skill": alone.wall / batched.wall,
        f"{name}: the same by time of the processors": alone.cpu / batched.cpu,
    }


def _now() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def _since(started: tuple[float, float]) -> Cost:
    wall, cpu = _now()
    return Cost(wall - started[0], max(cpu - started[1], 1e-9))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skills", type=int, default=200)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--singles", type=int, default=3, help="measured runs with one skill, per tool")
    parser.add_argument("--tools", default="semgrep,njsscan,kingfisher")
    options = parser.parse_args()
    figures = asyncio.run(measure(options.skills, options.batch, options.singles, options.tools.split(",")))
    for name, value in figures.items():
        print(f"{name:60} {value:10.2f}")


if __name__ == "__main__":
    main()
