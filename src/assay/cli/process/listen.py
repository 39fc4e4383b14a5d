"""The listening socket of the web process, opened before anything else."""

import socket

from assay.model.errors import Conflict, Invalid
from assay.settings import Settings


def listen(config: Settings) -> socket.socket:
    """Return a listening socket. Raises Invalid or Conflict, naming the setting to change."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    where = f"{config.host}:{config.port}"
    try:
        listener.bind((config.host, config.port))
        listener.listen(1024)
    except socket.gaierror:
        raise Invalid(f"ASSAY_HOST: {config.host!r} is not an address of this machine.") from None
    except OSError as problem:
        reason = "is already in use" if problem.errno == 98 else f"cannot be used: {problem.strerror}"
        raise Conflict(f"The address {where} {reason}: set ASSAY_PORT or ASSAY_HOST to another.") from None
    return listener
