"""Capabilities: what a skill reaches for, whether or not that is bad."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Everything is sorted and without repetition, so that two versions can be compared."""

    hosts: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    outside_files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
