"""A world for benchmarks: many repositories of plausible, harmless skills."""

from dataclasses import dataclass

from tests.support.fake_github.commit import Content
from tests.support.fake_github.world import FakeGitHub

UNLIMITED = 1_000_000_000
_SENTENCES = (
    "Read the request and say in one line what the result should be. ",
    "Collect the input files and list those that are missing. ",
    "Work on a copy and keep the original unchanged. ",
    "Prefer a short table when the numbers are compared with each other. ",
    "Explain each assumption where it is made. ",
    "Ask before replacing a file that exists already. ",
    "Check the totals against the source before presenting them. ",
    "Finish with a summary of what was done and what remains open.\n\n",
)


@dataclass(frozen=True)
class BenchShape:
    """Number and size of repositories; sizes vary by `spread`, and the first `renamed` were named `old-{i}/skills`."""

    repositories: int
    skills_per_repository: int
    skill_bytes: int
    renamed: int = 0
    spread: int = 0


@dataclass(frozen=True)
class Rates:
    """Rate limits of each token; unlimited by default."""

    limit: int = UNLIMITED
    search_limit: int = UNLIMITED
    code_search_limit: int = UNLIMITED
    minute_seconds: int = 60


def bench_world(shape: BenchShape, tokens: list[str], rates: Rates) -> FakeGitHub:
    """Build repositories `bench-{i}/skills` with skills at `skills/skill-{j}/`."""
    world = FakeGitHub(anonymous_limit=UNLIMITED, anonymous_search_limit=UNLIMITED, keep_calls=0)
    world.limits.minute_seconds = rates.minute_seconds
    for token in tokens:
        world.add_token(
            token, limit=rates.limit, search_limit=rates.search_limit, code_search_limit=rates.code_search_limit
        )
    for i in range(shape.repositories):
        files: dict[str, Content] = {"README.md": f"# Skills of bench-{i}\n"}
        for j in range(shape.skills_per_repository):
            files |= _skill(i, j, shape.skill_bytes + (i * 31 + j * 7) % (shape.spread + 1))
        repository = world.add_repository(
            f"old-{i}/skills" if i < shape.renamed else f"bench-{i}/skills",
            files,
            stars=i,
            description=f"Skills for benchmark {i}",
            topics=("agent-skills",),
        )
        if i < shape.renamed:
            repository.rename(f"bench-{i}/skills")
    return world


def _skill(i: int, j: int, skill_bytes: int) -> dict[str, Content]:
    folder = f"skills/skill-{j}"
    return {
        f"{folder}/SKILL.md": _instructions(i, j, skill_bytes),
        f"{folder}/README.md": f"# skill-{j}\n\nHow bench-{i} prepares report {j}, step by step.\n",
        f"{folder}/scripts/summarize.py": _SCRIPT.format(i=i, j=j),
    }


def _instructions(i: int, j: int, skill_bytes: int) -> str:
    head = (
        f"---\nname: skill-{j}\ndescription: Prepares report {j} of bench-{i} from tables and notes."
        f" Use when a summary of figures is asked for.\n---\n\n# Report {j}\n\n"
    )
    paragraph = "".join(_SENTENCES)
    missing = max(0, skill_bytes - len(head))
    return head + (paragraph * (missing // len(paragraph) + 1))[:missing] + "\n"


_SCRIPT = '''"""Sums the columns of a table for report {j} of bench-{i}."""

import csv
import sys


def column_sums(lines):
    sums = {{}}
    for row in csv.DictReader(lines):
        for name, value in row.items():
            sums[name] = sums.get(name, 0.0) + float(value)
    return sums


if __name__ == "__main__":
    for name, total in column_sums(sys.stdin).items():
        print(f"{{name}}: {{total:.2f}}")
'''
