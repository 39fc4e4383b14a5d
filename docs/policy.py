"""The table of the policy, as the code has it."""

from assay.policy.policy import TABLE


def policy_table() -> str:
    """Every row in its order: when it holds, and what follows."""
    rows = [
        f"| {number} | {row.when} | {row.decision.value if row.decision else 'the judge is asked'} "
        f"| {row.path.value if row.decision else ''} | `{row.code}` |"
        for number, row in enumerate(TABLE, 1)
    ]
    return "\n".join(["| | when | decision | path | code |", "|---|---|---|---|---|", *rows])
