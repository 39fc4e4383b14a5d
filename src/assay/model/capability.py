"""Capabilities: what a skill reaches for, whether or not that is bad."""

from dataclasses import dataclass

# Of each kind no more than so many are kept, and of each no more characters.
MOST = 200
LONGEST = 200


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Everything is sorted and without repetition, so that two versions can be compared."""

    hosts: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    outside_files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
