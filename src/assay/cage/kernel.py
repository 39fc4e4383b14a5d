"""System calls that the Python standard library does not wrap."""

import ctypes
import os
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38


def call(name: str, *arguments: Any) -> int:
    """Call a function of the C library; raise OSError with its errno on failure."""
    result: int = getattr(_libc, name)(*arguments)
    return _checked(name, result)


def syscall(number: int, *arguments: Any) -> int:
    """Invoke a system call by number; raise OSError with its errno on failure."""
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    return _checked(f"system call {number}", result)


def prctl(option: int, *arguments: Any) -> None:
    padded = [*arguments, *[ctypes.c_ulong(0)] * (4 - len(arguments))]
    call("prctl", ctypes.c_int(option), *padded)


def _checked(name: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result
