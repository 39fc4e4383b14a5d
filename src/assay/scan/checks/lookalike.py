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
    # One edit leaves at least one end unchanged.
    similar = (known for known in _LONG_ENOUGH if name[:_END] == known[:_END] or name[-_END:] == known[-_END:])
    return next((known for known in similar if is_one_edit_away(name, known)), None)


def is_one_edit_away(name: str, other: str) -> bool:
    """Return whether one letter was added, removed or changed, or swapped with the next (Damerau-Levenshtein)."""
    if name == other or abs(len(name) - len(other)) > 1:
        return False
    shorter = min(len(name), len(other))
    begin = next((at for at in range(shorter) if name[at] != other[at]), shorter)
    rest, expected = name[begin:], other[begin:]
    if len(rest) != len(expected):
        return rest[1:] == expected or rest == expected[1:]
    return rest[1:] == expected[1:] or (rest[:2] == expected[1::-1] and rest[2:] == expected[2:])
