"""How well the scanner sees through evasions: the bad specimen of each critical rule, said in many other ways.

    python -m benchmarks.evasion

By the rule: the rule itself still finds it. Caught: it would not be published, or something grave is found that is more
than a faint suspicion. Seen: anything at all is found. The specimens are those the rules were written with, so this
measures how well disguises are taken off, and not how well the rules know other attacks.
"""

from tests.support.scan.evasions import share, try_evasions

from assay.scan.ruleset import load_ruleset


def main() -> None:
    """Print a line for each evasion, and what was not seen at all."""
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
