"""Look-alike names: one slip away from a name that everybody knows."""

# Skills that are installed by name, by many; long enough that a slip of one letter is no other word.
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
    """The well-known name that this one is a slip away from, unless it is that name."""
    if name in KNOWN or len(name) < _SHORTEST:
        return None
    return next((known for known in _LONG_ENOUGH if _is_a_slip(name, known)), None)


def _is_a_slip(name: str, known: str) -> bool:
    """Whether one letter was added, left out, changed or swapped with the next."""
    # One slip leaves either end alone.
    if name[:_END] != known[:_END] and name[-_END:] != known[-_END:]:
        return False
    if abs(len(name) - len(known)) > 1:
        return False
    begin = next((i for i, (a, b) in enumerate(zip(name, known, strict=False)) if a != b), min(len(name), len(known)))
    rest, other = name[begin:], known[begin:]
    swapped = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return rest[1:] == other or rest == other[1:] or rest[1:] == other[1:] or swapped
