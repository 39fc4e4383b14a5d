"""`assay demo`: upload the bundled example skills, good and bad, and watch what happens to each."""

import asyncio
import io
import re
import tarfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from assay import settings
from assay.cli.stopping import run_until_done
from assay.model.errors import Invalid, Unavailable
from assay.model.submission import ACTIVE

ANSWER_SECONDS = 60
POLL_SECONDS = 0.3
COLOURS = {"published": "green", "review": "yellow", "rejected": "red", "failed": "red", "blocked": "red"}
console = Console()


def demo(
    url: Annotated[str | None, typer.Option(help="Address of the registry; default: this machine's.")] = None,
) -> None:
    """Upload six example skills and show how each is judged. Needs a running registry, but no network."""
    base_url = (url or settings.read().base_url).rstrip("/")
    if not re.match(settings.HTTP_URL, base_url):
        raise Invalid(f"--url must look like http://127.0.0.1:8000, not {base_url!r}.")
    run_until_done(_demo(base_url))


async def _demo(base_url: str) -> None:
    with as_file(files("assay.cli") / "examples") as folder:
        examples = sorted(path for path in folder.iterdir() if (path / "SKILL.md").is_file())
        async with aiohttp.ClientSession(base_url, timeout=aiohttp.ClientTimeout(total=30)) as session:
            try:
                results = await _submit_all(session, examples)
            except (aiohttp.ClientConnectionError, TimeoutError):
                raise Unavailable(f"No Assay answers at {base_url}: start it with `make up`.") from None
            except (aiohttp.ClientError, ValueError, KeyError):
                raise Unavailable(f"What answers at {base_url} is not a healthy Assay.") from None
    console.print(_table(results))
    console.print(f"See them at [bold]{base_url}/queue[/] and [bold]{base_url}/skills[/]")


async def _submit_all(session: aiohttp.ClientSession, examples: list[Path]) -> list[dict[str, Any]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("Assaying example skills", total=len(examples))

        async def follow(example: Path) -> dict[str, Any]:
            result = await _watch(session, await _upload(session, example))
            progress.advance(task)
            return result

        return list(await asyncio.gather(*map(follow, examples)))


async def _upload(session: aiohttp.ClientSession, example: Path) -> str:
    form = aiohttp.FormData()
    form.add_field("archive", _pack(example), filename=f"{example.name}.tar.gz", content_type="application/gzip")
    async with session.post("/api/v1/submissions/upload", data=form) as answer:
        body = await answer.json(content_type=None)
        if answer.status >= 400:
            raise Invalid(f"{example.name} was not accepted: {body['detail']}")
        return str(body["id"])


async def _watch(session: aiohttp.ClientSession, submission_id: str) -> dict[str, Any]:
    """The submission as soon as it is decided, or as it is when we stop waiting."""
    deadline = asyncio.get_running_loop().time() + ANSWER_SECONDS
    while True:
        async with session.get(f"/api/v1/submissions/{submission_id}") as answer:
            submission: dict[str, Any] = await answer.json()
        if submission["state"] not in ACTIVE or asyncio.get_running_loop().time() > deadline:
            return submission
        await asyncio.sleep(POLL_SECONDS)


def _pack(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(folder, arcname=folder.name)
    return buffer.getvalue()


def _table(results: list[dict[str, Any]]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("Skill", "Result", "Score", "Why"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "Score" else "left")
    for each in results:
        colour = COLOURS.get(each["category"], "blue")
        score = "–" if each["score"] is None else str(each["score"])
        table.add_row(each["skillName"], f"[{colour}]{each['state']}[/]", score, _why(each))
    return table


def _why(submission: dict[str, Any]) -> str:
    if submission["reason"]:
        return str(submission["reason"]["message"])
    if submission["state"] in ACTIVE:
        return "still waiting; is a worker running?"
    return "nothing dangerous was found; listed with a signed hallmark"
