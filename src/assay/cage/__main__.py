"""Become a tool, with as little as it needs: python -m assay.cage ORDER

ORDER is JSON: what to run, where, with which environment, limits and folders. What the kernel refused is written to the
file `cage.json` of the order before the tool begins, so that whoever reads its results knows.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.cage import landlock, namespace, seccomp
from assay.cage.kernel import PR_SET_PDEATHSIG, prctl

UNCAGED = 97


def main(order: Mapping[str, Any], leave: Callable[[], None] = namespace.leave_the_network) -> None:
    """Give everything up, and become the tool."""
    _die_with(order["parent"])
    refused: dict[str, str] = {}
    if _tried("namespaces", leave, refused):
        _stay_outside_of_the_first_process()
    for name, limit in order["limits"].items():
        resource.setrlimit(getattr(resource, name), (limit, limit))
    os.chdir(order["folder"])
    readable, writable = map(Path, order["readable"]), map(Path, order["writable"])
    told = Path(order["told"])
    with told.open("w") as said:
        _tried("landlock", lambda: landlock.restrict(readable, writable), refused)
        _tried("seccomp", seccomp.forbid_sockets, refused)
        json.dump(refused, said)
    if {"namespaces", "seccomp"} <= refused.keys():
        sys.exit(UNCAGED)
    os.execve(order["command"][0], order["command"], order["environment"])  # noqa: S606 - no shell is the point


def _tried(name: str, give_up: Callable[[], object], refused: dict[str, str]) -> bool:
    try:
        give_up()
    except OSError as problem:
        refused[name] = str(problem)
        return False
    return True


def _die_with(parent: int) -> None:
    prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != parent:  # it was gone before
        sys.exit(UNCAGED)


def _stay_outside_of_the_first_process() -> None:
    """A namespace of processes begins with the first child, and when that one ends, the kernel ends all the others."""
    first = os.fork()
    if first == 0:
        prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
        return
    _, status = os.waitpid(first, 0)
    code = os.waitstatus_to_exitcode(status)
    # As a shell says it: a child cannot end itself with a signal on behalf of another.
    os._exit(128 - code if code < 0 else code)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
