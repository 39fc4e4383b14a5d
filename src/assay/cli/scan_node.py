"""`assay scan-node`: runs external scan tools on what is published, on this machine or another."""

import asyncio
import os
import socket
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import aiohttp
import typer

from assay import __version__, settings
from assay.cli.process.stopping import run_until_done, stopping_event
from assay.cli.registry.address import address_of
from assay.cli.ui.logs import set_up_logs
from assay.cli.ui.options import Url
from assay.cli.ui.terminal import say
from assay.deepscan.install import default_folder, install, is_installed
from assay.deepscan.node import Node, NodeOptions
from assay.deepscan.receiver import receiving
from assay.deepscan.registry import RegistryClient
from assay.deepscan.tool import Tool
from assay.deepscan.tools.installed import find_tools, missing_tools
from assay.model.clock import Clock
from assay.model.errors import Invalid, Unauthenticated, Unavailable
from assay.model.ids import new_id
from assay.settings import Settings

HOW_TO_INSTALL = "`assay scan-node --install` gets the scan tools"


@dataclass(frozen=True)
class Wanted:
    """How a node shall run."""

    url: str
    name: str
    batch: int
    jobs: int
    listen: tuple[str, int] | None
    push_url: str | None
    once: bool


def scan_node(
    url: Url = None,
    name: Annotated[str | None, typer.Option("--name", help="What people call this node; default: its host.")] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, max=200, help="Skills that a tool gets in one start.")] = 50,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, max=64, help="Cores a tool may use; default: all.")
    ] = None,
    listen: Annotated[str | None, typer.Option("--listen", help="HOST:PORT to take pushes on; else it pulls.")] = None,
    push_url: Annotated[str | None, typer.Option("--push-url", help="How the registry reaches that address.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Do what waits now, then end.")] = False,
    install_tools: Annotated[bool, typer.Option("--install", help="Install the scan tools, then end.")] = False,
    supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False,
) -> None:
    """Run external scan tools on what is published. It needs no database, and as many may run as you like."""
    chosen = settings.read()
    if install_tools:
        folder = tools_folder(chosen)
        say(f"The scan tools are {'installed' if install(folder) else 'up to date'} in {folder}.")
        return
    set_up_logs("scan-node")
    if (url is None or supervised) and settings.has_secrets(chosen):
        chosen = settings.with_secrets(chosen)
    cores = jobs or len(os.sched_getaffinity(0))
    wanted = Wanted(address_of(url), name or socket.gethostname(), batch, cores, _place(listen), push_url, once)
    run_until_done(_run(chosen, wanted, supervised=supervised))


def tools_folder(chosen: Settings) -> Path:
    """Where the scan tools are, or would be."""
    return chosen.deep_scan_dir or default_folder()


def are_tools_there(chosen: Settings) -> bool:
    """Whether the scan tools of this release are installed on this machine."""
    return is_installed(tools_folder(chosen))


async def _run(chosen: Settings, wanted: Wanted, *, supervised: bool) -> None:
    stopping = stopping_event(supervised=supervised)
    if chosen.internal_key is None or chosen.webhook_secret is None:
        raise Unauthenticated(
            "This needs the secrets of the registry: set ASSAY_INTERNAL_KEY and ASSAY_WEBHOOK_SECRET."
        )
    secret, clock = chosen.webhook_secret.get_secret_value(), Clock()
    tools = _tools(chosen, wanted)
    async with AsyncExitStack() as opened:
        session = await opened.enter_async_context(aiohttp.ClientSession())
        key = chosen.internal_key.get_secret_value()
        registry = RegistryClient(wanted.url, session, key, secret, clock)
        options = NodeOptions(new_id(), wanted.name[:200], __version__, batch=wanted.batch, url=_push_url(wanted))
        node = Node(registry, tools, options)
        if wanted.listen is not None:
            await opened.enter_async_context(receiving(node, *wanted.listen, secret, clock))
        await (_drain(node, stopping) if wanted.once else node.run(stopping))


async def _drain(node: Node, stopping: asyncio.Event) -> None:
    """What waits now, then the end."""
    await node.mend()
    while not stopping.is_set() and await node.work_once():
        await node.register()
    await node.leave()


def _tools(chosen: Settings, wanted: Wanted) -> list[Tool]:
    folder = tools_folder(chosen)
    tools = [tool for tool in find_tools(folder, jobs=wanted.jobs) if tool.name in chosen.deep_scan_tools]
    if absent := missing_tools(tools, chosen.deep_scan_tools):
        say(f"Not on this machine: {', '.join(absent)}. {HOW_TO_INSTALL}; TruffleHog is yours to put on the PATH.")
    if not tools:
        raise Unavailable(f"There are no scan tools in {folder}: {HOW_TO_INSTALL}.", code="tools_not_installed")
    return tools


def _place(listen: str | None) -> tuple[str, int] | None:
    if listen is None:
        return None
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise Invalid("--listen must look like 0.0.0.0:9000.", code="bad_option")
    return host.strip("[]"), int(port)


def _push_url(wanted: Wanted) -> str | None:
    """How the registry reaches this node; told by whoever runs it, if it is not the address itself."""
    if wanted.listen is None:
        if wanted.push_url is not None:
            raise Invalid("--push-url: say with --listen where to take what is pushed.", code="bad_option")
        return None
    host, port = wanted.listen
    return wanted.push_url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
