"""`make bench`: run all or the named benchmarks, print their figures, and write benchmarks/results.json."""

import argparse
import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from benchmarks import bulk, crawl, edge, pipeline, routes, scale, search

RESULTS = Path(__file__).parent / "results.json"


def all_benchmarks(*, quick: bool) -> dict[str, Callable[[], Coroutine[Any, Any, dict[str, float]]]]:
    """Return the benchmarks by name, in order; `quick` uses small sizes."""
    if quick:
        return {
            "pipeline": lambda: pipeline.measure(10),
            "bulk": lambda: bulk.measure(1),
            "scale": lambda: scale.measure(300, 2, times=10, warm_up=1),
            "search": lambda: search.measure((300, 900), 2, warm_up=1),
            "routes": lambda: routes.measure(300, 5),
            "edge": lambda: edge.measure(300, 10),
            "crawl": lambda: crawl.measure(10, 2, 2),
        }
    return {
        "pipeline": lambda: pipeline.measure(500),
        "bulk": lambda: bulk.measure(15),
        "scale": lambda: scale.measure(30_000, scale.REPEATS),
        "search": lambda: search.measure(search.SIZES, search.REPEATS),
        "routes": lambda: routes.measure(routes.SKILLS, routes.REQUESTS),
        "edge": lambda: edge.measure(edge.LISTED, edge.CHANGES),
        "crawl": lambda: crawl.measure(crawl.REPOSITORIES, crawl.SKILLS, crawl.COMPARED),
    }


def main() -> None:
    """Run benchmarks; `--quick` only checks that they run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks to run (default: all)")
    parser.add_argument("--quick", action="store_true", help="use small sizes and do not write results.json")
    options = parser.parse_args()
    benchmarks = all_benchmarks(quick=options.quick)
    results = {name: asyncio.run(benchmarks[name]()) for name in options.names or benchmarks}
    for benchmark, figures in results.items():
        print(benchmark)
        for name, value in figures.items():
            print(f"  {name:60} {value:10.2f}")
    if not options.quick:
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(known | results, indent=1) + "\n")


if __name__ == "__main__":
    main()
