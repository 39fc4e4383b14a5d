"""Labelled skills of a corpus, and their scan results.

A corpus is a gzipped file with one JSON object per line: `id`, `source`, `family` (of near-duplicates), `label`,
`category`, `provenance`, `hard`, and `files`, each a `path` with `text` or, where it is binary, `base64`.
"""

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from assay.model.finding import Report
from assay.model.source import Source
from assay.model.verdict import Decision
from assay.policy.policy import Policy, static_verdict
from assay.scan.ruleset import Ruleset
from assay.scan.scan import scan_source

COMMIT = "0" * 40


@dataclass(frozen=True)
class Sample:
    """A skill with its labels."""

    id: str
    source: str
    family: str
    is_malicious: bool
    categories: tuple[str, ...]
    provenance: str
    is_hard: bool
    files: dict[str, bytes]

    @property
    def group(self) -> str:
        """Malicious, or the kind of benign: hard samples mention attacks, mainstream ones do not."""
        if self.is_malicious:
            return "malicious"
        return "hard" if self.is_hard else "mainstream"


@dataclass(frozen=True)
class Scanned:
    """A sample with its report. Caught means that it would not have been published without a review."""

    sample: Sample
    report: Report
    score: int
    caught: bool


def read_corpus(path: Path, limit: int | None = None) -> list[Sample]:
    """Return the samples of a corpus, at most `limit`."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [_sample(json.loads(line)) for line in islice(lines, limit)]


def _sample(row: dict[str, Any]) -> Sample:
    categories = (part.strip() for part in (row.get("category") or "none given").split(";"))
    return Sample(
        id=row["id"],
        source=row["source"],
        family=row["family"],
        is_malicious=row["label"] == "malicious",
        categories=tuple(dict.fromkeys(categories)),
        provenance=row["provenance"],
        is_hard=row["hard"],
        files={file["path"]: _content(file) for file in row["files"]},
    )


def _content(file: dict[str, str]) -> bytes:
    # JSON can contain lone surrogates, which cannot be encoded.
    return base64.b64decode(file["base64"]) if "base64" in file else file["text"].encode("utf-8", "replace")


def scan_samples(samples: list[Sample], ruleset: Ruleset) -> Iterator[Scanned]:
    """Scan each sample and apply the policy."""
    for sample in samples:
        report = scan_source(Source(sample.files, COMMIT), ruleset)
        verdict = static_verdict(report, Policy())
        yield Scanned(sample, report, verdict.score, verdict.decision is not Decision.APPROVE)
