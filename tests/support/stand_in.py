"""A stand-in for a scan process (see `warm_scanner.py`): passes on its pipes and arguments, and exits like the
process.
"""

import os
import signal
import socket
import sys

with socket.socket(socket.AF_UNIX) as forker:
    forker.connect(sys.argv[1])
    socket.send_fds(forker, ["\0".join(sys.argv[2:]).encode()], [0, 1, 2])
    code = int(forker.recv(16) or 1)
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
