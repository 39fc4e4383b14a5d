"""`assay scan-node`: run external scan tools on published skills, on this or another machine."""

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
from assay.cli.process.stopping import run_async, stopping_event
from assay.cli.registry.address import registry_url
from assay.cli.ui.logs import configure_logs
from assay.cli.ui.options import Url
from assay.cli.ui.terminal import print_note
from assay.deepscan.install import default_folder, install, is_installed
from assay.deepscan.node import Node, NodeOptions
from assay.deepscan.receiver import receive_pushes
from assay.deepscan.registry_client import RegistryClient
from assay.deepscan.tool import Tool
from assay.deepscan.tools.installed import find_tools, missing_tools
from assay.model.clock import Clock
from assay.model.errors import Invalid, Unauthenticated, Unavailable
from assay.model.ids import new_id
from assay.settings import Settings

HOW_TO_INSTALL = "`assay scan-node --install` installs the scan tools"


@dataclass(frozen=True)
class NodeArguments:
    url: str
    name: str
    batch: int
    jobs: int
    listen: tuple[str, int] | None
    push_url: str | None
    once: bool


def scan_node(
    url: Url = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of this node, shown to operators; default: the host name.")
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, max=200, help="Skills passed to a tool at once.")] = 50,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, max=64, help="CPUs that a tool may use; default: all.")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option("--listen", help="HOST:PORT on which the registry pushes scans; without it, the node polls."),
    ] = None,
    push_url: Annotated[
        str | None,
        typer.Option("--push-url", help="URL by which the registry reaches --listen; default: http://HOST:PORT."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Run the waiting scans and exit.")] = False,
    install_tools: Annotated[bool, typer.Option("--install", help="Install the scan tools and exit.")] = False,
    supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False,
) -> None:
    """Run external scan tools on published skills. It needs no database, and any number of nodes may run."""
    config = settings.read()
    if install_tools:
        folder = tools_folder(config)
        print_note(f"The scan tools are {'installed' if install(folder) else 'up to date'} in {folder}.")
        return
    configure_logs("scan-node")
    if (url is None or supervised) and settings.has_secrets(config):
        config = settings.with_secrets(config)
    cores = jobs or len(os.sched_getaffinity(0))
    arguments = NodeArguments(
        registry_url(url), name or socket.gethostname(), batch, cores, _parse_listen(listen), push_url, once
    )
    run_async(_run(config, arguments, supervised=supervised))


def tools_folder(config: Settings) -> Path:
    """Return the folder in which the scan tools are or will be installed."""
    return config.deep_scan_dir or default_folder()


def tools_installed(config: Settings) -> bool:
    """Return whether the scan tools of this release are installed on this machine."""
    return is_installed(tools_folder(config))


async def _run(config: Settings, arguments: NodeArguments, *, supervised: bool) -> None:
    stopping = stopping_event(supervised=supervised)
    if config.internal_key is None or config.webhook_secret is None:
        raise Unauthenticated(
            "A scan node requires the secrets of the registry: set ASSAY_INTERNAL_KEY and ASSAY_WEBHOOK_SECRET."
        )
    secret, clock = config.webhook_secret.get_secret_value(), Clock()
    tools = _tools(config, arguments)
    async with AsyncExitStack() as opened:
        session = await opened.enter_async_context(aiohttp.ClientSession())
        key = config.internal_key.get_secret_value()
        registry = RegistryClient(arguments.url, session, key, secret, clock)
        options = NodeOptions(
            new_id(), arguments.name[:200], __version__, batch=arguments.batch, url=_push_url(arguments)
        )
        node = Node(registry, tools, options)
        if arguments.listen is not None:
            await opened.enter_async_context(receive_pushes(node, *arguments.listen, secret, clock))
        await (_drain(node, stopping) if arguments.once else node.run(stopping))


async def _drain(node: Node, stopping: asyncio.Event) -> None:
    """Run all waiting scans, then deregister the node."""
    await node.check_tools()
    while not stopping.is_set() and await node.work_once():
        await node.register()
    await node.deregister()


def _tools(config: Settings, arguments: NodeArguments) -> list[Tool]:
    folder = tools_folder(config)
    tools = [tool for tool in find_tools(folder, jobs=arguments.jobs) if tool.name in config.deep_scan_tools]
    if absent := missing_tools(tools, config.deep_scan_tools):
        print_note(
            f"Not installed on this machine: {', '.join(absent)}. {HOW_TO_INSTALL}, except TruffleHog, which must be"
            " on the PATH."
        )
    if not tools:
        raise Unavailable(f"There are no scan tools in {folder}: {HOW_TO_INSTALL}.", code="tools_not_installed")
    return tools


def _parse_listen(listen: str | None) -> tuple[str, int] | None:
    if listen is None:
        return None
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise Invalid("--listen must be HOST:PORT, such as 0.0.0.0:9000.", code="bad_option")
    return host.strip("[]"), int(port)


def _push_url(arguments: NodeArguments) -> str | None:
    """Return the URL by which the registry reaches this node; None if the node polls."""
    if arguments.listen is None:
        if arguments.push_url is not None:
            raise Invalid("--push-url requires --listen.", code="bad_option")
        return None
    host, port = arguments.listen
    return arguments.push_url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
