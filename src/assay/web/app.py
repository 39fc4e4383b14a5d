"""The web application: routes, templates, errors and headers, put together."""

from collections.abc import Callable
from pathlib import Path

from litestar import Litestar
from litestar.datastructures import CacheControlHeader
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.static_files import create_static_files_router
from litestar.template import TemplateConfig
from litestar.types import Method
from litestar.types.internal_types import PathParameterDefinition

from assay import __version__
from assay.app import App
from assay.model.account import ANONYMOUS
from assay.model.errors import AssayError
from assay.web.admin import queue as admin_queue
from assay.web.api import changes, skills, submissions
from assay.web.errors import on_assay_error, on_bug, on_http_error
from assay.web.head import answer_head
from assay.web.headers import add_headers
from assay.web.health import healthz, metrics, readyz
from assay.web.pages import catalogue, home, queue
from assay.web.pages.templates import load_templates
from assay.web.parameters import refuse_what_is_not_read
from assay.web.traffic import Traffic

HERE = Path(__file__).parent
LARGEST_BODY_BYTES = 16 * 1024 * 1024
STATIC_SECONDS = 600


def create_app(assay: App) -> Litestar:
    """Everything that this registry answers over HTTP."""
    return build_app(lambda: assay)


def build_app(registry: Callable[[], App]) -> Litestar:
    """The routes; the registry behind them is asked for by each request."""
    traffic = Traffic()
    app = Litestar(
        route_handlers=[
            submissions.router,
            skills.router,
            changes.changes,
            changes.keys,
            admin_queue.router,
            healthz,
            readyz,
            metrics,
            home.home,
            catalogue.skills,
            catalogue.skill,
            queue.queue,
            queue.submission,
            create_static_files_router(
                "/static",
                [HERE / "static"],
                include_in_schema=False,
                cache_control=CacheControlHeader(public=True, max_age=STATIC_SECONDS),
            ),
        ],
        dependencies={
            "assay": Provide(registry, sync_to_thread=False),
            "caller": Provide(lambda: ANONYMOUS, sync_to_thread=False),
            "traffic": Provide(lambda: traffic, sync_to_thread=False),
        },
        before_request=refuse_what_is_not_read,
        before_send=[add_headers],
        exception_handlers={AssayError: on_assay_error, HTTPException: on_http_error, Exception: on_bug},
        template_config=TemplateConfig(instance=JinjaTemplateEngine.from_environment(load_templates())),
        openapi_config=OpenAPIConfig(
            title="Assay",
            version=__version__,
            description="A registry of agent skills. Errors are problem bodies (RFC 9457) with a stable `code`.",
            path="/openapi",
            render_plugins=[JsonRenderPlugin()],
            use_handler_docstrings=True,
            operation_id_creator=_operation_id,
        ),
        request_max_body_size=LARGEST_BODY_BYTES,
        logging_config=None,
    )
    app.asgi_handler = answer_head(traffic.counting(app.asgi_handler))
    return app


def _operation_id(handler: HTTPRouteHandler, _method: Method, _path: list[str | PathParameterDefinition]) -> str:
    """The name of the handler, as generated clients write it."""
    first, *others = handler.handler_name.split("_")
    return first + "".join(map(str.capitalize, others))
