"""Entry point of a caged process: apply all restrictions to this process, then replace it with the tool.

Usage: python -m assay.cage ORDER

ORDER is a JSON object with the command, working folder, environment, limits and folders. Restrictions that the kernel
refused are written to `refusals_file` before the tool starts, so that readers of its results know about them.
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


def main(order: Mapping[str, Any], enter: Callable[[], None] = namespace.enter_namespaces) -> None:
    """Restrict this process and execute the tool; exit with UNCAGED if it could still reach the network."""
    _die_with(order["parent"])
    refused: dict[str, str] = {}
    if _try_restriction("namespaces", enter, refused):
        _continue_as_first_child()
    for name, limit in order["limits"].items():
        resource.setrlimit(getattr(resource, name), (limit, limit))
    os.chdir(order["folder"])
    readable, writable = map(Path, order["readable"]), map(Path, order["writable"])
    # Opened first: Landlock then forbids opening it.
    with Path(order["refusals_file"]).open("w") as refusals_file:
        _try_restriction("landlock", lambda: landlock.restrict(readable, writable), refused)
        _try_restriction("seccomp", seccomp.forbid_sockets, refused)
        json.dump(refused, refusals_file)
    if {"namespaces", "seccomp"} <= refused.keys():
        sys.exit(UNCAGED)
    os.execve(order["command"][0], order["command"], order["environment"])  # noqa: S606 - no shell is intended


def _try_restriction(name: str, restrict: Callable[[], object], refused: dict[str, str]) -> bool:
    try:
        restrict()
    except OSError as error:
        refused[name] = str(error)
        return False
    return True


def _die_with(parent: int) -> None:
    prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != parent:  # the parent died before the call above
        sys.exit(UNCAGED)


def _continue_as_first_child() -> None:
    """Fork: a PID namespace begins with the first child, and the kernel kills all other members when it exits."""
    first = os.fork()
    if first == 0:
        prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
        return
    _, status = os.waitpid(first, 0)
    code = os.waitstatus_to_exitcode(status)
    # Use the shell convention: this process cannot exit with the child's signal.
    os._exit(128 - code if code < 0 else code)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
