"""A seccomp filter that allows only Unix sockets and forbids tracing and other ways around it."""

import ctypes
import errno
import platform

from assay.cage.kernel import PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, prctl

FILTER_MODE = 2
LOAD, JUMP_IF_EQUAL, JUMP_IF_ANY, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
NUMBER_AT, MACHINE_AT, FIRST_ARGUMENT_AT = 0, 4, 16
AF_UNIX = 1
# By machine: the audit architecture, the numbers of socket and socketpair, and the calls that are always refused:
# ptrace, io_uring_setup (which can open sockets past this filter), process_vm_readv, process_vm_writev, bpf.
MACHINES = {
    "x86_64": (0xC000003E, (41, 53), (101, 425, 310, 311, 321)),
    "aarch64": (0xC00000B7, (198, 199), (117, 425, 270, 271, 280)),
}
# x86_64 has a second set of numbers for the same calls (the x32 ABI), marked by this bit.
X32 = 0x40000000


class _FilterInstruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("value", ctypes.c_uint32))


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_FilterInstruction)))


def forbid_sockets() -> None:
    """Allow only Unix sockets from now on. Raises OSError on an unknown machine architecture."""
    if platform.machine() not in MACHINES:
        raise OSError(errno.ENOSYS, f"no filter for {platform.machine()}")
    machine, of_sockets, refused = MACHINES[platform.machine()]
    steps = [
        _FilterInstruction(LOAD, 0, 0, MACHINE_AT),
        _FilterInstruction(JUMP_IF_EQUAL, 1, 0, machine),
        _FilterInstruction(RETURN, 0, 0, KILL),
        _FilterInstruction(LOAD, 0, 0, NUMBER_AT),
        _FilterInstruction(JUMP_IF_ANY, 0, 1, X32),
        _FilterInstruction(RETURN, 0, 0, REFUSE),
    ]
    for number in refused:
        steps += [_FilterInstruction(JUMP_IF_EQUAL, 0, 1, number), _FilterInstruction(RETURN, 0, 0, REFUSE)]
    for number in of_sockets:
        steps += [
            _FilterInstruction(JUMP_IF_EQUAL, 0, 4, number),
            _FilterInstruction(LOAD, 0, 0, FIRST_ARGUMENT_AT),
            _FilterInstruction(JUMP_IF_EQUAL, 1, 0, AF_UNIX),
            _FilterInstruction(RETURN, 0, 0, REFUSE),
            _FilterInstruction(RETURN, 0, 0, ALLOW),
        ]
    steps.append(_FilterInstruction(RETURN, 0, 0, ALLOW))
    program = _FilterProgram(len(steps), (_FilterInstruction * len(steps))(*steps))
    prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1))
    prctl(PR_SET_SECCOMP, ctypes.c_ulong(FILTER_MODE), ctypes.byref(program))
