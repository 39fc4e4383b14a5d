"""Estimate of recall on a collection that was unknown when the rules were written.

Rules are not trained, so they cannot be trained without a collection. Instead, for each collection, all patterns are
disabled that match in its malicious skills and in those of no other collection. The remaining recall is due to patterns
that other collections confirm. Obvious patterns that only one collection needs are disabled as well, so the estimate is
pessimistic.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from assay.model.source import Source
from assay.model.verdict import Decision
from assay.policy.policy import Policy, static_verdict
from assay.scan.match.engine import Engine, best_engine
from assay.scan.match.matcher import SearchResult
from assay.scan.ruleset import Ruleset
from assay.scan.scan import scan_source
from benchmarks.labelled import COMMIT, Sample, Scanned


class _FilteringEngine:
    """An engine that omits disabled patterns and can record which others matched."""

    def __init__(self, ruleset: Ruleset, engine: Engine) -> None:
        self.patterns = ruleset.patterns
        self.engine = engine
        self.disabled: frozenset[int] = frozenset()
        self.matched: set[int] = set()
        self.records_matches = False

    def ends(self, text: bytes) -> Sequence[tuple[int, int]]:
        ends = [pair for pair in self.engine.ends(text) if pair[0] not in self.disabled]
        if self.records_matches:
            places: dict[int, list[int]] = {}
            for number, end in ends:
                places.setdefault(number, []).append(end)
            found = SearchResult(text, self.patterns, places)
            self.matched.update(number for number in places if number not in self.matched and found.matches(number))
        return ends


def without_own_patterns(samples: list[Sample], ruleset: Ruleset) -> list[Scanned]:
    """Scan each malicious skill without the patterns and rules that match only in its own collection."""
    engine = _FilteringEngine(ruleset, ruleset.engine or best_engine(ruleset.patterns))
    ruleset = ruleset.with_engine(engine)
    malicious = [sample for sample in samples if sample.is_malicious]
    patterns, rules = _witnesses(malicious, ruleset, engine)
    probes = range(len(ruleset.pattern_texts), len(ruleset.patterns))
    scanned = []
    for sample in malicious:
        own = {sample.source}
        engine.disabled = frozenset(number for number, of in patterns.items() if of == own and number not in probes)
        report = scan_source(Source(sample.files, COMMIT), ruleset)
        # Rules without patterns in the engine are disabled as a whole.
        left = tuple(one for one in report.findings if rules.get(one.rule_id) != own)
        verdict = static_verdict(replace(report, findings=left), Policy())
        scanned.append(Scanned(sample, report, verdict.score, verdict.decision is not Decision.APPROVE))
    return scanned


def _witnesses(
    malicious: list[Sample], ruleset: Ruleset, engine: _FilteringEngine
) -> tuple[dict[int, set[str]], dict[str, set[str]]]:
    """Return the collections in which each pattern and each rule matches."""
    patterns: defaultdict[int, set[str]] = defaultdict(set)
    rules: defaultdict[str, set[str]] = defaultdict(set)
    engine.records_matches = True
    for sample in malicious:
        engine.matched = set()
        report = scan_source(Source(sample.files, COMMIT), ruleset)
        for number in engine.matched:
            patterns[number].add(sample.source)
        for finding in report.findings:
            rules[finding.rule_id].add(sample.source)
    engine.records_matches = False
    return patterns, rules
