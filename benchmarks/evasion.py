"""Resistance of the scanner to evasions: disguised variants of the malicious specimen of each critical rule.

    python -m benchmarks.evasion

By the rule: the rule itself still matches. Caught: it would not be published, or there is a severe finding with more
than low confidence. Seen: there is any finding. The specimens are those of the rules themselves, so this measures how
well disguises are removed, not how well the rules cover other attacks.
"""

from tests.support.scan.evasions import share, try_evasions

from assay.scan.ruleset import load_ruleset


def main() -> None:
    """Print a line for each evasion, and the variants without any finding."""
    tried = try_evasions(load_ruleset())
    print(f"{'':28} {'tried':>6} {'by the rule':>12} {'caught':>8} {'seen':>8}")
    for name in ("all", *dict.fromkeys(one.evasion for one in tried)):
        some = [one for one in tried if name in ("all", one.evasion)]
        shares = (share(some, is_hit) for is_hit in (lambda o: o.by_rule, lambda o: o.caught, lambda o: o.seen))
        by_rule, caught, seen = shares
        print(f"{name:28} {len(some):6} {by_rule:12.0%} {caught:8.0%} {seen:8.0%}")
    for one in tried:
        if not one.seen:
            print(f"not seen: {one.rule_id} by {one.evasion}")


if __name__ == "__main__":
    main()
