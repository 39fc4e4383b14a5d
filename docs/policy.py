"""The policy table of `docs/policy.md`, generated from the code."""

from assay.policy.policy import TABLE


def policy_table() -> str:
    rows = [
        f"| {number} | {row.when} | {row.decision.value if row.decision else 'run the judge'} "
        f"| {row.path.value if row.decision else ''} | `{row.code}` |"
        for number, row in enumerate(TABLE, 1)
    ]
    return "\n".join(["| | when | decision | path | code |", "|---|---|---|---|---|", *rows])
