"""The fake GitHub as a process of its own, for benchmarks: `python -m assay.github.fake`."""

import argparse
import gc
import json
import os
import stat
import sys
import threading

from assay.github.fake.bench import bench_world
from assay.github.fake.calls import ROUTES
from assay.github.fake.downloads import remembered_archive
from assay.github.fake.server import Listener
from assay.github.fake.world import FakeGitHub


def main() -> None:
    """Build the world, say where it is on one line of JSON, serve until SIGTERM or the end of stdin."""
    options = _options()
    world = bench_world(options.repositories, options.skills_per_repository, options.skill_bytes, options.token)
    if options.latency_ms:
        for route in ROUTES:
            world.latency(route, options.latency_ms / 1000)
    listener = Listener(world, options.port)
    _build_archives(world)
    # The world stays as it is, so the collector need not look through it again and again.
    gc.freeze()
    _stop_at_end_of_stdin(listener)
    address = listener.address
    ready = {"base_url": address.base_url, "pid": os.getpid(), "urls": address.urls()}
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()
    listener.run(sockets=[listener.socket])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m assay.github.fake", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--repositories", type=int, default=50)
    parser.add_argument("--skills-per-repository", type=int, default=10)
    parser.add_argument("--skill-bytes", type=int, default=2000)
    parser.add_argument("--latency-ms", type=float, default=0)
    parser.add_argument("--token", action="append", default=[], help="a token to accept; may be repeated")
    return parser.parse_args()


def _build_archives(world: FakeGitHub) -> None:
    for repository in world.directory.all():
        for commit in repository.commits.values():
            remembered_archive(repository, commit)


def _stop_at_end_of_stdin(listener: Listener) -> None:
    # Only a pipe's end means that the parent is gone; /dev/null ends at once.
    if sys.stdin is None or not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
        return

    def wait_for_end() -> None:
        # os.read takes no lock of sys.stdin, on which the interpreter would stumble at its exit.
        while os.read(0, 4096):
            pass
        listener.stop()

    threading.Thread(target=wait_for_end, daemon=True).start()


if __name__ == "__main__":
    main()
