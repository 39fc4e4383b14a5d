"""Namespaces: no network interfaces, and no process that outlives the tool."""

import os
from pathlib import Path

from assay.cage.kernel import call

CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x08000000, 0x10000000, 0x20000000, 0x40000000
# The user `nobody`: a process that is not root inside the namespace loses all capabilities on exec.
INSIDE = 65534


def enter_namespaces() -> None:
    """Enter new user, network, PID and IPC namespaces; the network has only a loopback that is down.

    Raises OSError if the kernel does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    call("unshare", CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{INSIDE} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{INSIDE} {group} 1")
