"""What the scanner would catch in a collection that nobody had looked at when the rules were written.

Nothing is trained here, so nothing can be trained without a collection. What can be done is to take away, for each
collection, all patterns that match in its malicious skills and in those of no other collection: nobody but this
collection speaks for them. What is still caught in it is caught by what was learnt elsewhere. A pattern that everybody
would have thought of, and that only one collection needs, is taken away as well.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from assay.model.source import Source
from assay.model.verdict import Decision
from assay.policy.policy import Policy, judge_report
from assay.scan.match.engine import best_engine
from assay.scan.match.matcher import Engine, Found
from assay.scan.ruleset import Ruleset
from assay.scan.scan import scan_source
from benchmarks.labelled import COMMIT, Sample, Scanned


class _Silenced:
    """An engine that does not report some patterns, and can say which others have matched."""

    def __init__(self, ruleset: Ruleset, engine: Engine) -> None:
        self.patterns = ruleset.patterns
        self.engine = engine
        self.silent: frozenset[int] = frozenset()
        self.matched: set[int] = set()
        self.listens = False

    def ends(self, text: bytes) -> Sequence[tuple[int, int]]:
        ends = [pair for pair in self.engine.ends(text) if pair[0] not in self.silent]
        if self.listens:
            places: dict[int, list[int]] = {}
            for number, end in ends:
                places.setdefault(number, []).append(end)
            found = Found(text, self.patterns, places)
            self.matched.update(number for number in places if number not in self.matched and found.matches(number))
        return ends


def without_own_patterns(samples: list[Sample], ruleset: Ruleset) -> list[Scanned]:
    """Each malicious skill, scanned without what only its own collection speaks for."""
    engine = _Silenced(ruleset, ruleset.engine or best_engine(ruleset.patterns))
    ruleset = ruleset.on(engine)
    malicious = [sample for sample in samples if sample.is_malicious]
    patterns, rules = _witnesses(malicious, ruleset, engine)
    probes = range(len(ruleset.pattern_texts), len(ruleset.patterns))
    scanned = []
    for sample in malicious:
        own = {sample.source}
        engine.silent = frozenset(number for number, of in patterns.items() if of == own and number not in probes)
        report = scan_source(Source(sample.files, COMMIT), ruleset)
        # Rules that have no patterns in the engine are taken away whole.
        left = tuple(one for one in report.findings if rules.get(one.rule_id) != own)
        verdict = judge_report(replace(report, findings=left), Policy())
        scanned.append(Scanned(sample, report, verdict.score, verdict.decision is not Decision.APPROVE))
    return scanned


def _witnesses(
    malicious: list[Sample], ruleset: Ruleset, engine: _Silenced
) -> tuple[dict[int, set[str]], dict[str, set[str]]]:
    """The collections in which each pattern, and each rule, has found something."""
    patterns: defaultdict[int, set[str]] = defaultdict(set)
    rules: defaultdict[str, set[str]] = defaultdict(set)
    engine.listens = True
    for sample in malicious:
        engine.matched = set()
        report = scan_source(Source(sample.files, COMMIT), ruleset)
        for number in engine.matched:
            patterns[number].add(sample.source)
        for finding in report.findings:
            rules[finding.rule_id].add(sample.source)
    engine.listens = False
    return patterns, rules
