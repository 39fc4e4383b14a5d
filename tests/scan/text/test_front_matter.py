"""Front matter is parsed without trusting it: verbatim, bounded, with every problem named."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.model.skill import Description
from assay.scan.rule import Check
from assay.scan.text.front_matter import MAX_FRONT_MATTER_BYTES, describe, read_front_matter

GOOD = """---
name: csv-profiler
description: >
  Describes a CSV file
  in plain words.
version: 1.10
license: Apache-2.0
author: Ada
allowed-tools: [Read, Bash]
---

# CSV profiler
"""


def checks(text: str | bytes) -> list[Check]:
    content = text.encode() if isinstance(text, str) else text
    return [problem.check for problem in read_front_matter(content).problems]


def front(block: str) -> str:
    return f"---\n{block}\n---\n# Body\n"


def test_valid_front_matter_is_read_verbatim() -> None:
    front_matter = read_front_matter(GOOD.encode())
    assert front_matter.problems == ()
    assert front_matter.body == "\n# CSV profiler\n"
    assert (
        Description(
            name="csv-profiler",
            description="Describes a CSV file in plain words.",
            version="1.10",
            license="Apache-2.0",
            author="Ada",
        )
        == front_matter.description
    )


def test_author_and_version_may_be_in_metadata() -> None:
    described = describe(
        front("name: a\ndescription: b\nauthor: Ada\nmetadata:\n  author: Bob\n  version: 2.0").encode()
    )
    assert (described.author, described.version) == ("Ada", "2.0")


@pytest.mark.parametrize(
    "text", [GOOD.replace("\n", "\r\n"), f"\ufeff{GOOD}", f"\n{GOOD}"], ids=["crlf", "bom", "blank"]
)
def test_line_endings_and_byte_order_mark_are_ignored(text: str) -> None:
    assert checks(text) == []
    assert describe(text.encode()).name == "csv-profiler"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [Check.FRONT_MATTER]),
        ("# Only a heading\n", [Check.FRONT_MATTER]),
        ("---\nname: open\n", [Check.FRONT_MATTER]),
        (front("- a\n- list"), [Check.FRONT_MATTER]),
        (front("name: [unclosed"), [Check.FRONT_MATTER]),
        (front(""), [Check.NAME, Check.DESCRIPTION]),
        (front("name:\ndescription: b"), [Check.NAME]),
        (front("name: ~\ndescription: b"), [Check.NAME]),
        (front("name: [a]\ndescription: b"), [Check.NAME]),
        (front("name: Two Words\ndescription: b"), [Check.NAME]),
        (front("name: ../etc\ndescription: b"), [Check.NAME]),
        (front(f"name: {'a' * 64}\ndescription: b"), []),
        (front(f"name: {'a' * 65}\ndescription: b"), [Check.NAME]),
        (front("name: a"), [Check.DESCRIPTION]),
        (front("name: a\ndescription: ''"), [Check.DESCRIPTION]),
        (front(f"name: a\ndescription: {'b' * 1024}"), []),
        (front(f"name: a\ndescription: {'b' * 1025}"), [Check.DESCRIPTION]),
    ],
)
def test_each_structural_problem_is_named(text: str, expected: list[Check]) -> None:
    assert expected == checks(text)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "anchors and aliases"),
        ("a: &a\n  <<: *a", "anchors and aliases"),
        ("a: " + "[" * 5000 + "]" * 5000, "nests deeper"),
        ("a: " + "b" * MAX_FRONT_MATTER_BYTES, "larger than 16 KB"),
    ],
    ids=["bomb", "recursive", "deep", "huge"],
)
def test_yaml_bombs_are_rejected(block: str, said: str) -> None:
    front_matter = read_front_matter(front(block).encode())
    (problem,) = front_matter.problems
    assert problem.check == Check.FRONT_MATTER
    assert said in problem.message
    assert front_matter.body == "# Body\n"


@pytest.mark.parametrize("value", ["!!python/object/apply:os.system ['true']", "9" * 5000, "2024-99-99", "!!binary x"])
def test_yaml_objects_are_never_constructed(value: str) -> None:
    assert checks(front(f"name: a\ndescription: b\nextra: {value}")) == []


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: f"---\n{text}\n---\n".encode(errors="replace")))
def test_any_content_gets_a_description(content: bytes) -> None:
    front_matter = read_front_matter(content)
    assert front_matter.problems or front_matter.description.name
