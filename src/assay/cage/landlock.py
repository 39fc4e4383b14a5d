"""Landlock: restrict which folders a process can read and write, and forbid TCP."""

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from assay.cage.kernel import PR_SET_NO_NEW_PRIVS, prctl, syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
GET_VERSION = 1
PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
READ = EXECUTE | READ_FILE | READ_DIR
ALL_OF_FIRST = (1 << 13) - 1
# Rights added by later ABI versions: (first version, right).
REFER, TRUNCATE, IOCTL_DEVICE = (2, 1 << 13), (3, 1 << 14), (5, 1 << 15)
# The only rights that can be granted on a file that is not a folder.
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE[1] | IOCTL_DEVICE[1]
BIND_TCP, CONNECT_TCP, NETWORK_FROM = 1 << 0, 1 << 1, 4


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def restrict(readable: Iterable[Path], writable: Iterable[Path]) -> int:
    """Allow access to these folders only and forbid TCP; return the Landlock ABI version.

    Raises OSError if the kernel does not support Landlock.
    """
    version = syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(GET_VERSION))
    everything = ALL_OF_FIRST
    for since, right in (REFER, TRUNCATE, IOCTL_DEVICE):
        everything |= right if version >= since else 0
    network = BIND_TCP | CONNECT_TCP if version >= NETWORK_FROM else 0
    attributes = _Ruleset(everything, network)
    # Kernels without network rules accept only the first field.
    size = ctypes.sizeof(attributes) if network else ctypes.sizeof(ctypes.c_uint64)
    ruleset = syscall(CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    for folder in readable:
        _allow(ruleset, folder, READ & everything)
    for folder in writable:
        _allow(ruleset, folder, everything)
    prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1))
    syscall(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)
    return version


def _allow(ruleset: int, folder: Path, rights: int) -> None:
    """Grant rights on a folder; skip it if it does not exist."""
    try:
        opened = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        beneath = _Beneath(rights if folder.is_dir() else rights & OF_FILES, opened)
        syscall(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(PATH_BENEATH), ctypes.byref(beneath), ctypes.c_uint32(0))
    finally:
        os.close(opened)
