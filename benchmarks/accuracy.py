"""Accuracy of the scanner: shares with 95 % confidence intervals, and the contribution of each rule."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from math import sqrt

from assay.model.verdict import Decision
from assay.policy.policy import Policy, static_verdict
from benchmarks.labelled import Sample, Scanned

_Z = 1.959963984540054


@dataclass(frozen=True)
class Share:
    """A proportion with its confidence interval."""

    hits: int
    of: int
    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.share:7.1%}  [{self.low:6.1%}, {self.high:6.1%}]  {self.hits:5} of {self.of:5}"


def wilson(hits: int, of: int) -> Share:
    """Return a proportion with its Wilson 95 % interval; without samples, the interval is 0 to 1.

    The interval assumes independent samples. Near-duplicates are not independent, so the true interval is wider.
    """
    if of == 0:
        return Share(0, 0, 0.0, 0.0, 1.0)
    share, square = hits / of, _Z * _Z
    middle = share + square / (2 * of)
    half = _Z * sqrt(share * (1 - share) / of + square / (4 * of * of))
    scale = 1 + square / of
    return Share(hits, of, share, max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale))


def f1(caught: int, alarms: int, missed: int) -> Share:
    """Return F1 with an interval.

    F1 is monotonic in true positives / (true positives + false positives + misses), which has a Wilson interval.
    """
    plain = wilson(caught, caught + alarms + missed)
    share, low, high = (2 * value / (1 + value) for value in (plain.share, plain.low, plain.high))
    return Share(plain.hits, plain.of, share, low, high)


def headline(scanned: list[Scanned]) -> dict[str, Share]:
    """Return the figures of the whole corpus.

    Precision and F1 depend on its proportion of malicious samples; recall and false positives do not.
    """
    counts = Counter((one.sample.group, one.caught) for one in scanned)

    def share(*groups: str) -> Share:
        caught = sum(counts[group, True] for group in groups)
        return wilson(caught, caught + sum(counts[group, False] for group in groups))

    bad, benign = share("malicious"), share("mainstream", "hard")
    return {
        "recall": bad,
        "false positives": benign,
        "false positives, mainstream": share("mainstream"),
        "false positives, hard": share("hard"),
        "precision": wilson(bad.hits, bad.hits + benign.hits),
        "F1": f1(bad.hits, benign.hits, bad.of - bad.hits),
    }


def by(scanned: Iterable[Scanned], keys: Callable[[Sample], Iterable[str]]) -> dict[str, Share]:
    """Return the caught share of each group, largest group first."""
    caught: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for one in scanned:
        for key in keys(one.sample):
            total[key] += 1
            caught[key] += one.caught
    return {
        key: wilson(caught[key], count) for key, count in sorted(total.items(), key=lambda item: (-item[1], item[0]))
    }


def once_a_family(scanned: list[Scanned]) -> float:
    """Return the caught share, counting each family of near-duplicates once."""
    shares = by(scanned, lambda sample: (sample.family,)).values()
    return mean(share.share for share in shares)


def mean(values: Iterable[float]) -> float:
    """Return the mean; 0 without values."""
    known = list(values)
    return sum(known) / len(known) if known else 0.0


def worst(shares: dict[str, Share], choose: Callable[[Iterable[float]], float]) -> dict[str, Share]:
    """Return the group with the lowest or highest share; of several, the largest."""
    if not shares:
        return {}
    extreme = choose(share.share for share in shares.values())
    name = next(name for name, share in shares.items() if share.share == extreme)
    return {name: shares[name]}


@dataclass(frozen=True)
class Contribution:
    """For one rule: skills with findings of it, and skills that would pass without it (decisive)."""

    malicious: int = 0
    mainstream: int = 0
    hard: int = 0
    decisive_malicious: int = 0
    decisive_mainstream: int = 0
    decisive_hard: int = 0


def contributions(scanned: list[Scanned]) -> dict[str, Contribution]:
    """Return contributions by rule, most decisive for malicious skills first."""
    found: dict[str, Counter[str]] = {}
    for one in scanned:
        for rule_id in {finding.rule_id for finding in one.report.findings}:
            counts = found.setdefault(rule_id, Counter())
            counts[one.sample.group] += 1
            counts[f"decisive_{one.sample.group}"] += one.caught and _passes_without(one, rule_id)
    rules = {rule_id: Contribution(**counts) for rule_id, counts in found.items()}
    return dict(sorted(rules.items(), key=lambda item: (-item[1].decisive_malicious, -item[1].malicious, item[0])))


def _passes_without(one: Scanned, rule_id: str) -> bool:
    rest = tuple(finding for finding in one.report.findings if finding.rule_id != rule_id)
    return static_verdict(replace(one.report, findings=rest), Policy()).decision is Decision.APPROVE


def accuracy(scanned: list[Scanned]) -> dict[str, object]:
    """Return all figures as plain data."""
    bad = [one for one in scanned if one.sample.is_malicious]
    benign = [one for one in scanned if not one.sample.is_malicious]
    recall_by_source, alarms_by_source = (by(some, lambda sample: (sample.source,)) for some in (bad, benign))
    return {
        "overall": _plain(headline(scanned)),
        "recall, each family once": once_a_family(bad),
        "false positives, each family once": once_a_family(benign),
        "recall by provenance": _plain(by(bad, lambda sample: (sample.provenance,))),
        "recall by category": _plain(by(bad, lambda sample: sample.categories)),
        "recall by source": _plain(recall_by_source),
        "recall, mean over sources": mean(share.share for share in recall_by_source.values()),
        "recall, worst source": _plain(worst(recall_by_source, min)),
        "false positives by source": _plain(alarms_by_source),
        "false positives, mean over sources": mean(share.share for share in alarms_by_source.values()),
        "false positives, worst source": _plain(worst(alarms_by_source, max)),
        "rules": {rule_id: asdict(rule) for rule_id, rule in contributions(scanned).items()},
    }


def left_out_figures(scanned: list[Scanned]) -> dict[str, object]:
    """Return recall without the patterns that match only in the source of each skill."""
    by_source = by(scanned, lambda sample: (sample.source,))
    return {
        "recall, source left out": _plain({"overall": headline(scanned)["recall"]} | by_source),
        "recall, source left out, mean over sources": mean(share.share for share in by_source.values()),
        "recall, source left out, by provenance": _plain(by(scanned, lambda sample: (sample.provenance,))),
    }


def _plain(shares: dict[str, Share]) -> dict[str, dict[str, float]]:
    return {name: asdict(share) for name, share in shares.items()}
