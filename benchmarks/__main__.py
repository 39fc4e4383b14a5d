"""`make bench`: every benchmark in turn; prints the figures and writes benchmarks/results.json."""

import argparse
import asyncio
import json
from pathlib import Path

from benchmarks import bulk, pipeline, routes, scale, search

RESULTS = Path(__file__).parent / "results.json"


def main() -> None:
    """Run them all; `--quick` only shows that they still run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small numbers, and no results.json")
    quick = parser.parse_args().quick
    results = {
        "pipeline": asyncio.run(pipeline.measure(30 if quick else 500)),
        "bulk": asyncio.run(bulk.measure(2 if quick else 15)),
        "scale": asyncio.run(scale.measure(300, 3, times=10) if quick else scale.measure(30_000, scale.REPEATS)),
        "search": asyncio.run(search.measure((300, 900), 3) if quick else search.measure(search.SIZES, search.REPEATS)),
        "routes": asyncio.run(routes.measure(300, 10) if quick else routes.measure(routes.SKILLS, routes.REQUESTS)),
    }
    for benchmark, figures in results.items():
        print(benchmark)
        for name, value in figures.items():
            print(f"  {name:60} {value:10.2f}")
    if not quick:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
