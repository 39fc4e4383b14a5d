"""Responses of a registry."""

from typing import Any

ID = "01a1e271-c661-702b-8f3a-f4df29366bd7"
EARLIER = "2026-11-16T03:42:00Z"
MOMENT = "2026-11-16T03:43:00Z"
LATER = "2026-11-16T03:44:00Z"


def a_submission(state: str = "RECEIVED", name: str = "pdf", **fields: Any) -> dict[str, Any]:
    """Return a submission of a list."""
    return {
        "id": ID,
        "repoUrl": "https://github.com/acme/tools",
        "repository": "acme/tools",
        "skillName": name,
        "skillPath": "skills/pdf/SKILL.md",
        "state": state,
        "category": "active",
        "source": "cli",
        "score": None,
        "attempts": 0,
        "reason": None,
        "createdAt": MOMENT,
        "updatedAt": MOMENT,
    } | fields


def a_detail(state: str = "RECEIVED", name: str = "pdf", **fields: Any) -> dict[str, Any]:
    """Return a submission detail."""
    timings = {"receivedAt": MOMENT, "msInReceived": 5, "msInScanning": None, "totalMs": 5}
    history = [
        {
            "fromState": None,
            "toState": state,
            "trigger": "submitted",
            "actor": "cli",
            "metadata": {},
            "createdAt": MOMENT,
        }
    ]
    more = {"publishedSkillName": None, "stateHistory": history, "stageTimings": timings, "scanResults": []}
    return a_submission(state, name) | more | fields


def an_acceptance(**fields: Any) -> dict[str, Any]:
    """Return the response to an accepted submission."""
    return {"id": ID, "state": "RECEIVED", "duplicate": False, "alreadyVerified": False, "blocked": False} | fields


def a_page(*submissions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a page of a list."""
    return {
        "submissions": list(submissions),
        "total": len(submissions),
        "nextCursor": None,
        "queuePositions": {},
    } | fields


def some_stats() -> dict[str, Any]:
    """Return queue statistics."""
    counts = dict.fromkeys(("active", "published", "rejected", "review", "failed", "blocked", "onHold"), 0)
    return {"total": 7, "skills": 3, "byState": {}, "generatedAt": MOMENT} | counts
