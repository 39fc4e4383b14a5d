"""The web application: routes, templates, errors and headers, put together."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from litestar import Litestar
from litestar.datastructures import ResponseHeader
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.static_files import create_static_files_router
from litestar.template import TemplateConfig

from assay import __version__
from assay.app import App
from assay.model.errors import AssayError
from assay.web.api import changes, skills, submissions
from assay.web.errors import on_assay_error, on_bug, on_http_error
from assay.web.health import healthz, metrics, readyz
from assay.web.pages import catalogue, home, queue
from assay.web.pages.format import FILTERS
from assay.web.parameters import refuse_unknown_parameters
from assay.web.traffic import Traffic

HERE = Path(__file__).parent
LARGEST_BODY_BYTES = 16 * 1024 * 1024
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


def create_app(assay: App) -> Litestar:
    """Everything that this registry answers over HTTP."""
    traffic = Traffic()
    return Litestar(
        route_handlers=[
            submissions.router,
            skills.router,
            changes.changes,
            changes.keys,
            healthz,
            readyz,
            metrics,
            home.home,
            catalogue.skills,
            catalogue.skill,
            queue.queue,
            queue.submission,
            create_static_files_router("/static", [HERE / "static"], include_in_schema=False),
        ],
        dependencies={
            "assay": Provide(lambda: assay, sync_to_thread=False),
            "traffic": Provide(lambda: traffic, sync_to_thread=False),
        },
        before_request=refuse_unknown_parameters,
        middleware=[traffic.middleware],
        exception_handlers={AssayError: on_assay_error, HTTPException: on_http_error, Exception: on_bug},
        response_headers=[ResponseHeader(name=name, value=value) for name, value in HEADERS.items()],
        template_config=TemplateConfig(instance=JinjaTemplateEngine.from_environment(_templates())),
        openapi_config=OpenAPIConfig(
            title="Assay", version=__version__, path="/openapi", render_plugins=[JsonRenderPlugin()]
        ),
        request_max_body_size=LARGEST_BODY_BYTES,
        logging_config=None,
    )


def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals["version"] = __version__
    return environment
