"""The web application: routes, templates, errors and headers, put together."""

from functools import cache
from pathlib import Path
from typing import Any

from litestar import Litestar, Request, Router
from litestar.datastructures import CacheControlHeader
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.static_files import create_static_files_router
from litestar.template import TemplateConfig
from litestar.types import ASGIApp, Method, Scope
from litestar.types.internal_types import PathParameterDefinition

from assay import __version__
from assay.app.app import App
from assay.model.account import Caller
from assay.model.errors import AssayError
from assay.serve.feed.hub import Hub
from assay.web.discovery import api as admin_discovery
from assay.web.discovery.github_webhook import github_hook
from assay.web.feed import api as changes
from assay.web.feed.events_json import encode_happenings
from assay.web.http.access import PUBLIC, SCHEMES, check_access, check_routes
from assay.web.http.caller import caller_of
from assay.web.http.context import Behind, behind
from assay.web.http.errors import on_assay_error, on_bug, on_http_error
from assay.web.http.head import answer_head
from assay.web.http.headers import add_headers
from assay.web.http.parameters import refuse_what_is_not_read
from assay.web.http.signing import answer_signed
from assay.web.http.templates import load_templates
from assay.web.http.traffic import Traffic, count_requests
from assay.web.moderation import admin_blocklist, blocklist, reviews, suppressions
from assay.web.moderation import admin_reports as reports
from assay.web.moderation import appeal_page as appeal
from assay.web.moderation import report_page as report
from assay.web.moderation import reports_page as report_pages
from assay.web.moderation import rescan_page as rescan
from assay.web.moderation import reviews_page as review_pages
from assay.web.moderation.reports import get_report_status
from assay.web.operations import audit, edge_copy, replay, repositories
from assay.web.operations import pages as admin
from assay.web.operations.health import healthz, metrics, readyz
from assay.web.people import account, exchange, github, password, session
from assay.web.people import sign_in_page as sign_in
from assay.web.queue import admin as admin_queue
from assay.web.queue import pages as queue
from assay.web.queue.api import list_stuck, queue_health
from assay.web.scans import internal as deep_scans
from assay.web.scans.webhook import take_scan_results
from assay.web.skills import api as skills
from assay.web.skills import home, rss
from assay.web.skills import list_page as skill_list
from assay.web.skills import pages as skill
from assay.web.skills.badges import badge
from assay.web.skills.flat_names import read_flat_names
from assay.web.skills.lists import list_categories
from assay.web.skills.stats import catalogue_stats
from assay.web.submissions import api as submissions
from assay.web.versions import admin as admin_versions
from assay.web.versions import pages as versions
from assay.web.versions import status_page as standing

HERE = Path(__file__).parent
LARGEST_BODY_BYTES = 16 * 1024 * 1024
STATIC_SECONDS = 600


def create_app(assay: App, live: Hub | None = None, routes: Litestar | None = None) -> ASGIApp:
    """Everything that this registry answers over HTTP."""
    live, traffic = live or create_hub(assay), Traffic()
    traffic.watch(live.audience)
    return Behind(assay, live, traffic).answer_with(routes or _usual_routes())


def create_hub(assay: App) -> Hub:
    """The live events of one web process."""
    return Hub(assay.store, assay.database_url, encode_happenings)


@cache
def _usual_routes() -> Litestar:
    return build_routes()


def build_routes() -> Litestar:
    """All routes, for any registry."""
    app = Litestar(
        route_handlers=[
            submissions.router,
            skills.router,
            list_categories,
            changes.changes,
            changes.watch_catalogue,
            changes.watch_skills,
            changes.keys,
            blocklist.router,
            admin_blocklist.router,
            admin_queue.router,
            admin_versions.router,
            repositories.router,
            admin_discovery.router,
            github_hook,
            edge_copy.router,
            replay.router,
            deep_scans.router,
            take_scan_results,
            reviews.router,
            suppressions.router,
            reports.router,
            get_report_status,
            audit.audit,
            session.me,
            session.refresh_page,
            session.refresh,
            session.sign_out,
            session.sign_out_all,
            password.sign_in,
            github.begin,
            github.come_back,
            exchange.exchange,
            account.router,
            queue_health,
            list_stuck,
            healthz,
            readyz,
            metrics,
            home.home,
            rss.feed,
            skill_list.skills,
            skill.skill,
            skill.skill_by_name,
            versions.version,
            versions.compare,
            versions.file,
            badge,
            catalogue_stats,
            queue.queue,
            queue.submission,
            admin.admin,
            admin.pause,
            admin.resume,
            admin.requeue_failed,
            admin.control,
            report.report_form,
            report.receipt,
            rescan.rescan_form,
            standing.unlist_form,
            standing.relist_form,
            review_pages.reviews,
            review_pages.review,
            review_pages.decide,
            review_pages.suppress_finding,
            report_pages.reports,
            report_pages.resolve_report,
            appeal.appeal_form,
            sign_in.sign_in_page,
            sign_in.sign_in_form,
            create_static_files_router(
                "/static",
                [HERE / "static"],
                include_in_schema=False,
                opt=PUBLIC,
                cache_control=CacheControlHeader(public=True, max_age=STATIC_SECONDS),
            ),
        ],
        dependencies={
            "assay": Provide(_assay, sync_to_thread=False),
            "caller": Provide(_caller, sync_to_thread=False),
            "live": Provide(_live, sync_to_thread=False),
            "traffic": Provide(_traffic, sync_to_thread=False),
        },
        guards=[check_access],
        before_request=refuse_what_is_not_read,
        before_send=[add_headers],
        exception_handlers={AssayError: on_assay_error, HTTPException: on_http_error, Exception: on_bug},
        template_config=TemplateConfig(instance=JinjaTemplateEngine.from_environment(load_templates())),
        openapi_config=OpenAPIConfig(
            title="Assay",
            version=__version__,
            description="A registry of agent skills. Errors are problem bodies (RFC 9457) with a stable `code`.",
            openapi_router=Router("/openapi", route_handlers=[], include_in_schema=False, opt=PUBLIC),
            components=SCHEMES,
            render_plugins=[JsonRenderPlugin()],
            use_handler_docstrings=True,
            operation_id_creator=_operation_id,
        ),
        request_max_body_size=LARGEST_BODY_BYTES,
        logging_config=None,
    )
    check_routes(app)
    app.asgi_handler = answer_head(read_flat_names(count_requests(answer_signed(app.asgi_handler), _traffic)))
    return app


def _assay(scope: Scope) -> App:
    return behind(scope).assay


def _live(scope: Scope) -> Hub:
    return behind(scope).live


def _traffic(scope: Scope) -> Traffic:
    return behind(scope).traffic


def _caller(request: Request[Any, Any, Any]) -> Caller:
    return caller_of(request)


def _operation_id(handler: HTTPRouteHandler, _method: Method, _path: list[str | PathParameterDefinition]) -> str:
    """The name of the handler, as generated clients write it."""
    first, *others = handler.handler_name.split("_")
    return first + "".join(map(str.capitalize, others))
