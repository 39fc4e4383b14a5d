"""Where the web process listens: a socket that is open before anything else is."""

import socket

from assay.model.errors import Conflict, Invalid
from assay.settings import Settings


def listen(chosen: Settings) -> socket.socket:
    """A listening socket, or one clear line why there is none."""
    family = socket.AF_INET6 if ":" in chosen.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    where = f"{chosen.host}:{chosen.port}"
    try:
        listener.bind((chosen.host, chosen.port))
        listener.listen(1024)
    except socket.gaierror:
        raise Invalid(f"ASSAY_HOST: {chosen.host!r} is not an address of this machine.") from None
    except OSError as problem:
        reason = "is already in use" if problem.errno == 98 else f"cannot be used: {problem.strerror}"
        raise Conflict(f"The address {where} {reason}: set ASSAY_PORT or ASSAY_HOST to another.") from None
    return listener
