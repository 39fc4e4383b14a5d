"""Accuracy and speed of the scanner on a corpus of labelled skills.

    python -m benchmarks.scanner CORPUS.jsonl.gz [--limit N] [--json OUT] [--show missed|alarms]

Caught means that the skill would not have been published without a review. Figures are given for the whole corpus, for
each source, and for each source without the patterns that match only in it (`left_out.py`), which is closer to the
result on an unknown source.

Speed is the CPU time of one warmed-up process: the scanner, including hashing, compared with reading and hashing the
same bytes, with and without the bare matcher whose matches are ignored.
"""

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from assay.model.source import Source
from assay.scan.ruleset import Ruleset, load_ruleset
from assay.scan.scan import scan_source
from assay.scan_pool.saved_engine import user_cache_folder, with_saved_engine
from benchmarks.accuracy import Share, accuracy, left_out_figures
from benchmarks.labelled import COMMIT, Sample, Scanned, read_corpus, scan_samples
from benchmarks.left_out import without_own_patterns

ROUNDS = 3
_SHOWN_FINDINGS = 4
# A skill on disk: its paths, and the files with their bytes.
Stored = dict[str, Path]
Work = Callable[[Stored], object]


def speed(samples: list[Sample], ruleset: Ruleset, rounds: int = ROUNDS) -> dict[str, float]:
    """Return skills and megabytes per CPU second of the scanner and of less work on the same bytes.

    Each is the median of rounds that alternate, so that a busy machine affects all equally.
    """
    contestants: dict[str, Work] = {"scan": lambda files: scan_source(_source(files), ruleset), "hash": _hash}
    matching = _bare_matching(ruleset)
    if matching is not None:
        contestants["hash + match"] = matching
    with tempfile.TemporaryDirectory() as folder:
        stored = _store(samples, Path(folder))
        taken: dict[str, list[float]] = {name: [] for name in contestants}
        for _ in range(rounds):
            for name, work in contestants.items():
                taken[name].append(_cpu_seconds(work, stored))
    seconds = {name: max(median(times), 1e-9) for name, times in taken.items()}
    return _speed_figures(seconds, len(samples), sum(len(data) for one in samples for data in one.files.values()))


def _speed_figures(seconds: dict[str, float], skills: int, size_bytes: int) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, taken in seconds.items():
        figures[f"{name}: skills a CPU-second"] = skills / taken
        figures[f"{name}: MB a CPU-second"] = size_bytes / taken / 1e6
    for name in [name for name in seconds if name != "scan"]:
        figures[f"CPU time of scan / {name}"] = seconds["scan"] / seconds[name]
    return figures


def _cpu_seconds(work: Work, stored: list[Stored]) -> float:
    started = time.process_time()
    for files in stored:
        work(files)
    return time.process_time() - started


def _store(samples: list[Sample], folder: Path) -> list[Stored]:
    """Write the files to disk under neutral names; the names in a corpus are as hostile as its content."""
    stored: list[Stored] = []
    for number, sample in enumerate(samples):
        paths = {path: folder / f"{number}-{position}" for position, path in enumerate(sample.files)}
        for path, path_on_disk in paths.items():
            path_on_disk.write_bytes(sample.files[path])
        stored.append(paths)
    return stored


def _source(files: Stored) -> Source:
    return Source({path: path_on_disk.read_bytes() for path, path_on_disk in files.items()}, COMMIT)


def _hash(files: Stored) -> None:
    for path_on_disk in files.values():
        hashlib.sha256(path_on_disk.read_bytes()).hexdigest()


def _bare_matching(ruleset: Ruleset) -> Work | None:
    """Return a function that matches the same patterns and ignores the matches; None without Hyperscan."""
    save = getattr(ruleset.engine, "save", None)
    if save is None:
        return None
    import hyperscan  # noqa: PLC0415 - there may be none

    database = hyperscan.loadb(save(), hyperscan.HS_MODE_BLOCK)
    scratch = hyperscan.Scratch(database)

    def match(files: Stored) -> None:
        for path_on_disk in files.values():
            content = path_on_disk.read_bytes()
            hashlib.sha256(content).hexdigest()
            database.scan(content, match_event_handler=_ignore, scratch=scratch)

    return match


def _ignore(*_: object) -> None:
    return None


def ready_ruleset() -> Ruleset:
    """Return the shipped rules on an engine that can be saved."""
    return with_saved_engine(load_ruleset(), user_cache_folder())


def measure(samples: list[Sample], rounds: int = ROUNDS) -> tuple[dict[str, object], list[Scanned]]:
    """Return all figures, and the scanned samples."""
    ruleset = ready_ruleset()
    scanned = list(scan_samples(samples, ruleset))
    figures = {"ruleset": ruleset.version, "samples": len(samples), **accuracy(scanned)}
    figures |= left_out_figures(without_own_patterns(samples, ruleset))
    return {**figures, "speed": speed(samples, ruleset, rounds)}, scanned


def print_figures(figures: dict[str, object]) -> None:
    """For people: a table for each group of figures."""
    for name, value in figures.items():
        if not isinstance(value, dict):
            print(f"{name:50} {value:.1%}" if isinstance(value, float) else f"{name:50} {value}")
            continue
        print(f"\n{name}")
        if name == "rules":
            print(f"  {'skills with a finding, and those that pass without it':50} malicious   mainstream         hard")
        for key, entry in value.items():
            print(f"  {key:50} {_shown(entry)}")


def _shown(entry: Any) -> str:
    match entry:
        case {"share": _}:
            return str(Share(**entry))
        case {"malicious": _}:
            groups = ("malicious", "mainstream", "hard")
            return "  ".join(f"{entry[group]:5} ({entry[f'decisive_{group}']:3})" for group in groups)
        case _:
            return f"{entry:10.2f}"


def print_samples(scanned: list[Scanned], show: str) -> None:
    """Print malicious skills that would be published, or benign ones that would not, by source and score."""
    wrong = [one for one in scanned if one.caught is not one.sample.is_malicious]
    wrong = [one for one in wrong if one.sample.is_malicious is (show == "missed")]
    for one in sorted(wrong, key=lambda one: (one.sample.source, one.score, one.sample.id)):
        about = f"{one.sample.id} ({one.sample.source}, {one.sample.group}, {'; '.join(one.sample.categories)})"
        print(f"\n{one.score:3} {about}")
        for finding in sorted(one.report.findings, key=lambda finding: -finding.confidence)[:_SHOWN_FINDINGS]:
            location = f"{finding.file}:{finding.line}"
            print(f"      {finding.rule_id} {finding.severity} {finding.confidence:.2f} {location} {finding.excerpt}")


def main() -> None:
    """Print the figures; `--json` also writes them with the score of every sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--limit", type=int, help="maximum number of samples")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="number of speed measurements")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--show", choices=("missed", "alarms"), help="also list wrongly classified samples")
    options = parser.parse_args()
    figures, scanned = measure(read_corpus(options.corpus, options.limit), options.rounds)
    print_figures(figures)
    if options.show:
        print_samples(scanned, options.show)
    if options.json:
        scores = {one.sample.id: one.score for one in scanned}
        options.json.write_text(json.dumps({**figures, "scores": scores}, indent=1) + "\n")


if __name__ == "__main__":
    main()
