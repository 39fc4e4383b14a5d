"""Look-alike names of skills (typosquatting)."""

# Well-known skills. Names shorter than `_SHORTEST` are not compared: one changed letter makes another word.
KNOWN = frozenset(
    {
        "algorithmic-art",
        "brand-guidelines",
        "canvas-design",
        "claude-code",
        "clawdhub",
        "clawhub",
        "composio",
        "docx",
        "frontend-design",
        "google-workspace",
        "internal-comms",
        "mcp-builder",
        "moltbook",
        "nano-banana",
        "openclaw",
        "polymarket",
        "react-best-practices",
        "skill-creator",
        "slack-gif-creator",
        "solana",
        "theme-factory",
        "vercel-deploy",
        "web-artifacts-builder",
        "web-design-guidelines",
        "webapp-testing",
        "xlsx",
        "youtube-summarize",
    }
)
_SHORTEST = 7
_END = 3
_LONG_ENOUGH = tuple(sorted(name for name in KNOWN if len(name) >= _SHORTEST))


def lookalike_of(name: str) -> str | None:
    """Return the well-known name that is one edit away from this one; None if the name is itself well known."""
    if name in KNOWN or len(name) < _SHORTEST:
        return None
    return next((known for known in _LONG_ENOUGH if _is_one_edit_away(name, known)), None)


def _is_one_edit_away(name: str, known: str) -> bool:
    """Return true if one letter was added, removed or changed, or swapped with the next."""
    # One edit leaves at least one end unchanged.
    if name[:_END] != known[:_END] and name[-_END:] != known[-_END:]:
        return False
    if abs(len(name) - len(known)) > 1:
        return False
    begin = next((i for i, (a, b) in enumerate(zip(name, known, strict=False)) if a != b), min(len(name), len(known)))
    rest, other = name[begin:], known[begin:]
    swapped = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return rest[1:] == other or rest == other[1:] or rest[1:] == other[1:] or swapped
