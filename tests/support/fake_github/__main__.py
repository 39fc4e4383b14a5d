"""The fake GitHub as a separate process, for benchmarks: `python -m tests.support.fake_github`."""

import argparse
import gc
import json
import os
import stat
import sys
import threading

from tests.support.fake_github.bench import UNLIMITED, BenchShape, Rates, bench_world
from tests.support.fake_github.calls import ROUTES
from tests.support.fake_github.downloads import cached_archive
from tests.support.fake_github.server import Listener
from tests.support.fake_github.world import FakeGitHub


def main() -> None:
    """Build the world, print its address as one line of JSON, and serve until SIGTERM or the end of stdin."""
    options = _options()
    shape = BenchShape(
        options.repositories, options.skills_per_repository, options.skill_bytes, options.renamed, options.spread
    )
    rates = Rates(options.limit, options.search_limit, options.code_search_limit, options.minute_seconds)
    world = bench_world(shape, options.token, rates)
    if options.fail_every:
        world.fail_every(options.fail_every)
    if options.latency_ms:
        for route in ROUTES:
            world.latency(route, options.latency_ms / 1000)
    listener = Listener(world, options.port)
    _build_archives(world)
    # The world does not change, so keep the garbage collector from traversing it.
    gc.freeze()
    _stop_at_end_of_stdin(listener)
    address = listener.address
    ready = {"base_url": address.base_url, "pid": os.getpid(), "urls": address.urls()}
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()
    listener.run(sockets=[listener.socket])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.support.fake_github", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--repositories", type=int, default=50)
    parser.add_argument("--skills-per-repository", type=int, default=10)
    parser.add_argument("--skill-bytes", type=int, default=2000)
    parser.add_argument("--latency-ms", type=float, default=0)
    parser.add_argument("--spread", type=int, default=0, help="maximum number of extra bytes per skill")
    parser.add_argument("--renamed", type=int, default=0, help="number of renamed repositories")
    parser.add_argument("--fail-every", type=int, default=0, help="make every n-th API response an error")
    parser.add_argument("--limit", type=int, default=UNLIMITED, help="calls per token and hour")
    parser.add_argument("--search-limit", type=int, default=UNLIMITED, help="searches per token and minute")
    parser.add_argument("--code-search-limit", type=int, default=UNLIMITED)
    parser.add_argument("--minute-seconds", type=int, default=60, help="length of the search window in seconds")
    parser.add_argument("--token", action="append", default=[], help="a token to accept; may be repeated")
    return parser.parse_args()


def _build_archives(world: FakeGitHub) -> None:
    for repository in world.directory.all():
        for commit in repository.commits.values():
            cached_archive(repository, commit)


def _stop_at_end_of_stdin(listener: Listener) -> None:
    # Only the end of a pipe means that the parent has exited; /dev/null ends immediately.
    if sys.stdin is None or not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
        return

    def wait_for_end() -> None:
        # os.read does not take the lock of sys.stdin, which would block the interpreter at exit.
        while os.read(0, 4096):
            pass
        listener.stop()

    threading.Thread(target=wait_for_end, daemon=True).start()


if __name__ == "__main__":
    main()
