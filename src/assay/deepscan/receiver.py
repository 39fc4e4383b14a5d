"""The HTTP endpoint on which a node receives batches that the registry signed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from assay.deepscan.messages import LARGEST_MESSAGE_BYTES, ScanBatch
from assay.deepscan.node import Node
from assay.deepscan.signature import SIGNATURE_HEADER, TIMESTAMP_HEADER, verify
from assay.model.clock import Clock
from assay.model.errors import Unauthenticated, Unavailable

PATH = "/scans"


@asynccontextmanager
async def receive_pushes(node: Node, host: str, port: int, secret: str, clock: Clock) -> AsyncIterator[int]:
    """Receive pushes for the duration of the block; yield the port. Raises Unavailable if it is taken."""

    async def receive(request: web.Request) -> web.Response:
        body = await request.read()
        credentials = request.headers.get(TIMESTAMP_HEADER), request.headers.get(SIGNATURE_HEADER)
        try:
            verify(secret, body, *credentials, clock.now())
            work = msgspec.json.decode(body, type=ScanBatch)
        except Unauthenticated as error:
            return web.json_response({"code": error.code}, status=401)
        except msgspec.DecodeError:
            return web.json_response({"code": "bad_body"}, status=400)
        # A repeated push finds its lease gone or this node busy, so no batch is processed twice.
        return web.json_response({"taken": True}, status=202) if node.accept_push(work) else web.Response(status=429)

    app = web.Application(client_max_size=LARGEST_MESSAGE_BYTES)
    app.router.add_post(PATH, receive)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise Unavailable(f"Cannot listen on {host}:{port}: {error.strerror}", code="port_taken") from None
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
