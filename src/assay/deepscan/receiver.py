"""Where a node takes what is pushed to it: one address, signed by the registry."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from assay.deepscan.messages import LARGEST_MESSAGE_BYTES, Work
from assay.deepscan.node import Node
from assay.deepscan.signature import SIGNATURE_HEADER, TIMESTAMP_HEADER, verify
from assay.model.clock import Clock
from assay.model.errors import Unauthenticated, Unavailable

PATH = "/scans"


@asynccontextmanager
async def receiving(node: Node, host: str, port: int, secret: str, clock: Clock) -> AsyncIterator[int]:
    """Take pushes as long as this lasts; gives the port. Raises Unavailable if it cannot be listened on."""

    async def take(request: web.Request) -> web.Response:
        body = await request.read()
        given = request.headers.get(TIMESTAMP_HEADER), request.headers.get(SIGNATURE_HEADER)
        try:
            verify(secret, body, *given, clock.now())
            work = msgspec.json.decode(body, type=Work)
        except Unauthenticated as problem:
            return web.json_response({"code": problem.code}, status=401)
        except msgspec.DecodeError:
            return web.json_response({"code": "bad_body"}, status=400)
        # The same work again finds its lease gone, or this node busy: nothing is done twice.
        return web.json_response({"taken": True}, status=202) if node.take_push(work) else web.Response(status=429)

    app = web.Application(client_max_size=LARGEST_MESSAGE_BYTES)
    app.router.add_post(PATH, take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as problem:
            raise Unavailable(f"{host}:{port} cannot be listened on: {problem.strerror}", code="port_taken") from None
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
