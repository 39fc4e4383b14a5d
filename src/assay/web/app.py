"""The web application: routes, templates, errors and headers. Only this module assembles routers across nouns."""

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
from litestar.types import ASGIApp, ControllerRouterHandler, Method, Scope
from litestar.types.internal_types import PathParameterDefinition

from assay import __version__
from assay.app.app import App
from assay.model.account import Caller
from assay.model.errors import AssayError
from assay.serve.feed.hub import Hub
from assay.web.discovery import api as discovery
from assay.web.discovery.github_webhook import github_hook
from assay.web.feed import api as feed
from assay.web.feed.json import encode_live_events
from assay.web.http.access import PUBLIC, check_access, check_routes
from assay.web.http.access_documentation import SCHEMES, document_access
from assay.web.http.caller import caller_of
from assay.web.http.context import RequestContext, context_of
from assay.web.http.errors import on_assay_error, on_http_error, on_unexpected_error
from assay.web.http.headers import add_headers, answer_head
from assay.web.http.limits import UNLIMITED, document_limits, limit_requests
from assay.web.http.parameters import refuse_undeclared
from assay.web.http.read_limit import ReadLimit
from assay.web.http.signing import answer_signed
from assay.web.http.templates import load_templates
from assay.web.http.traffic import Traffic, count_requests
from assay.web.moderation import appeals, blocklist, reports, rescans, reviews, suppressions
from assay.web.moderation import pages as moderation_pages
from assay.web.operations import audit, edge_copy, health, replay, repositories
from assay.web.operations import pages as operations_pages
from assay.web.people import account, limits, namespaces, roles, session, sign_in
from assay.web.people import pages as people_pages
from assay.web.queue import admin as queue_admin
from assay.web.queue import api as queue
from assay.web.queue import pages as queue_pages
from assay.web.scans import internal as scan_nodes
from assay.web.scans.webhook import take_scan_results
from assay.web.skills import api as skills
from assay.web.skills import installs, rss
from assay.web.skills import pages as skill_pages
from assay.web.submissions import api as submissions
from assay.web.submissions import submit
from assay.web.versions import api as versions
from assay.web.versions import exports, files, owners
from assay.web.versions import pages as version_pages
from assay.web.versions.naming import BY_NAME, expand_flat_names
from assay.web.versions.security import get_security

HERE = Path(__file__).parent
LARGEST_BODY_BYTES = 16 * 1024 * 1024
STATIC_SECONDS = 600


def create_app(assay: App, live: Hub | None = None, routes: Litestar | None = None) -> ASGIApp:
    """Return the ASGI application of one registry; the routes are built once per process and shared."""
    live, traffic = live or create_hub(assay), Traffic()
    traffic.watch(live.subscribers)
    reads = ReadLimit(assay.settings.limit_reads)
    return RequestContext(assay, live, traffic, reads).wrap(routes or _shared_routes())


def create_hub(assay: App) -> Hub:
    """Return the source of live events of one web process."""
    return Hub(assay.store, assay.database_url, encode_live_events)


@cache
def _shared_routes() -> Litestar:
    return build_routes()


def build_routes() -> Litestar:
    """Return all routes, independent of any registry."""
    app = Litestar(
        route_handlers=[*_api(), *_pages(), _static()],
        dependencies={
            "assay": Provide(_assay, sync_to_thread=False),
            "caller": Provide(_caller, sync_to_thread=False),
            "live": Provide(_live, sync_to_thread=False),
            "traffic": Provide(_traffic, sync_to_thread=False),
        },
        guards=[check_access, limit_requests],
        before_request=refuse_undeclared,
        before_send=[add_headers],
        exception_handlers={
            AssayError: on_assay_error,
            HTTPException: on_http_error,
            Exception: on_unexpected_error,
        },
        template_config=TemplateConfig(instance=JinjaTemplateEngine.from_environment(load_templates())),
        openapi_config=OpenAPIConfig(
            title="Assay",
            version=__version__,
            description="The API of Assay, a registry for agent skills. Errors are problem bodies (RFC 9457) with a "
            "stable `code`.",
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
    document_access(app)
    document_limits(app)
    app.asgi_handler = answer_head(expand_flat_names(count_requests(answer_signed(app.asgi_handler), _traffic)))
    return app


def _api() -> list[ControllerRouterHandler]:
    return [
        _submissions(),
        _skills(),
        skills.list_categories,
        skills.catalogue_stats,
        skills.badge,
        feed.changes,
        feed.watch_catalogue,
        feed.watch_skills,
        feed.keys,
        blocklist.router,
        blocklist.admin_router,
        owners.admin_router,
        queue.queue_health,
        queue.list_stuck,
        queue_admin.router,
        discovery.router,
        github_hook,
        scan_nodes.router,
        take_scan_results,
        reviews.router,
        suppressions.router,
        reports.router,
        reports.get_report_status,
        audit.audit,
        edge_copy.router,
        replay.router,
        repositories.router,
        session.me,
        session.refresh_page,
        session.refresh,
        session.sign_out,
        session.sign_out_all,
        sign_in.sign_in,
        sign_in.start_github_sign_in,
        sign_in.finish_github_sign_in,
        sign_in.exchange,
        account.router,
        limits.list_my_limits,
        namespaces.router,
        namespaces.account_router,
        namespaces.admin_router,
        roles.router,
        health.healthz,
        health.readyz,
        health.metrics,
    ]


def _pages() -> list[ControllerRouterHandler]:
    return [
        rss.feed,
        skill_pages.home,
        skill_pages.skills,
        skill_pages.skill,
        skill_pages.skill_by_name,
        version_pages.version,
        version_pages.compare,
        version_pages.file,
        version_pages.unlist_form,
        version_pages.relist_form,
        queue_pages.queue,
        queue_pages.submission,
        queue_pages.control,
        moderation_pages.report_form,
        moderation_pages.receipt,
        moderation_pages.rescan_form,
        moderation_pages.reviews,
        moderation_pages.review,
        moderation_pages.decide,
        moderation_pages.suppress_finding,
        moderation_pages.reports,
        moderation_pages.resolve_report,
        moderation_pages.appeal_form,
        operations_pages.admin,
        operations_pages.pause,
        operations_pages.resume,
        operations_pages.requeue_failed,
        people_pages.sign_in_page,
        people_pages.sign_in_form,
    ]


def _submissions() -> Router:
    return Router(
        "/api/v1/submissions",
        tags=["submissions"],
        opt=PUBLIC,
        route_handlers=[
            submit.submit,
            submit.bulk,
            submit.discover,
            submit.upload,
            submissions.list_submissions,
            submissions.stats,
            submissions.positions,
            submissions.get_submission,
            feed.watch_submissions,
            feed.watch_submission,
            appeals.appeal_submission,
        ],
    )


def _skills() -> Router:
    return Router(
        "/api/v1/skills",
        tags=["skills"],
        opt=PUBLIC,
        dependencies=BY_NAME,
        route_handlers=[
            skills.list_skills,
            skills.search_skills,
            skills.get_skill,
            skills.get_skill_by_name,
            versions.list_versions,
            versions.get_version,
            versions.diff_versions,
            versions.compare_versions,
            files.list_version_files,
            files.get_file,
            files.download,
            exports.get_report,
            exports.get_sarif,
            exports.get_hallmark,
            exports.get_oms_signature,
            get_security,
            installs.report_install,
            installs.report_installs,
            installs.check_for_updates,
            owners.router,
            submit.reindex,
            reports.report_skill,
            rescans.rescan,
        ],
    )


def _static() -> Router:
    return create_static_files_router(
        "/static",
        [HERE / "static"],
        include_in_schema=False,
        opt=PUBLIC | UNLIMITED,
        cache_control=CacheControlHeader(public=True, max_age=STATIC_SECONDS),
    )


def _assay(scope: Scope) -> App:
    return context_of(scope).assay


def _live(scope: Scope) -> Hub:
    return context_of(scope).live


def _traffic(scope: Scope) -> Traffic:
    return context_of(scope).traffic


def _caller(request: Request[Any, Any, Any]) -> Caller:
    return caller_of(request)


def _operation_id(handler: HTTPRouteHandler, _method: Method, _path: list[str | PathParameterDefinition]) -> str:
    """Return the name of the handler in camelCase, as generated clients use it."""
    first, *others = handler.handler_name.split("_")
    return first + "".join(map(str.capitalize, others))
