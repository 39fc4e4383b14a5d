"""Submissions over HTTP."""

import httpx

BACKDATED = "MDAwMS0wMS0wMVQwMDowMDowMCsxNDowMHw" + "MDAwMDAwMDAtMDAwMC0wMDAwLTAwMDAtMDAwMDAwMDAwMDAw"


def refused(answer: httpx.Response, status: int, named: str) -> None:
    """Check for a problem with this status that names the culprit."""
    assert answer.status_code == status, (answer.request.url, answer.text)
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in answer.json()["detail"]
