"""A filter of system calls: sockets of this machine only, no tracing, no ways around it."""

import ctypes
import errno
import platform

from assay.cage.kernel import PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, prctl

FILTER_MODE = 2
LOAD, JUMP_IF_EQUAL, JUMP_IF_ANY, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
NUMBER_AT, MACHINE_AT, FIRST_ARGUMENT_AT = 0, 4, 16
AF_UNIX = 1
# The machine as the kernel calls it; the numbers of socket and socketpair; what is refused altogether: ptrace,
# io_uring_setup (which opens sockets past this filter), process_vm_readv, process_vm_writev, bpf.
MACHINES = {
    "x86_64": (0xC000003E, (41, 53), (101, 425, 310, 311, 321)),
    "aarch64": (0xC00000B7, (198, 199), (117, 425, 270, 271, 280)),
}
# On x86_64 the same calls have a second set of numbers, with this bit.
X32 = 0x40000000


class _Step(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("value", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_Step)))


def forbid_sockets() -> None:
    """From now on no socket but between processes of this machine. OSError if this machine is not known."""
    if platform.machine() not in MACHINES:
        raise OSError(errno.ENOSYS, f"no filter for {platform.machine()}")
    machine, of_sockets, refused = MACHINES[platform.machine()]
    steps = [
        _Step(LOAD, 0, 0, MACHINE_AT),
        _Step(JUMP_IF_EQUAL, 1, 0, machine),
        _Step(RETURN, 0, 0, KILL),
        _Step(LOAD, 0, 0, NUMBER_AT),
        _Step(JUMP_IF_ANY, 0, 1, X32),
        _Step(RETURN, 0, 0, REFUSE),
    ]
    for number in refused:
        steps += [_Step(JUMP_IF_EQUAL, 0, 1, number), _Step(RETURN, 0, 0, REFUSE)]
    for number in of_sockets:
        steps += [
            _Step(JUMP_IF_EQUAL, 0, 4, number),
            _Step(LOAD, 0, 0, FIRST_ARGUMENT_AT),
            _Step(JUMP_IF_EQUAL, 1, 0, AF_UNIX),
            _Step(RETURN, 0, 0, REFUSE),
            _Step(RETURN, 0, 0, ALLOW),
        ]
    steps.append(_Step(RETURN, 0, 0, ALLOW))
    program = _Program(len(steps), (_Step * len(steps))(*steps))
    prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1))
    prctl(PR_SET_SECCOMP, ctypes.c_ulong(FILTER_MODE), ctypes.byref(program))
