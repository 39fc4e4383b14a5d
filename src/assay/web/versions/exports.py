"""Documents about a version for other tools: scan report, SARIF, hallmark, and OpenSSF model signature."""

from typing import Any

from litestar import Response, get
from litestar.params import FromPath

from assay.certify.oms import sign_model
from assay.model.skill import Skill, SkillVersion, slug_in
from assay.model.source import Manifest
from assay.serve.scans.version_log import version_log
from assay.serve.versions.versions import choose_version, read_version
from assay.store.scans.contents import list_files
from assay.store.versions.versions import find_oms_signature
from assay.web.http.context import Assay, RequestedName
from assay.web.http.errors import problems
from assay.web.http.headers import content_disposition
from assay.web.versions.json import VersionReportView, present_report

PROBLEMS = problems(300, 400, 404, 410, 503)
VERSION = "/{owner:str}/{repo:str}/{skill:str}/versions/{version:str}"
SARIF = "application/sarif+json"


@get(f"{VERSION}/report", summary="Get the scan report of a version", responses=PROBLEMS)
async def get_report(assay: Assay, requested_name: RequestedName, version: FromPath[str]) -> VersionReportView:
    """Return all scans with their findings, newest first, and the results of deep scans.

    Findings that a judge refuted or a person suppressed are included, with the reason.
    """
    async with assay.store.snapshot() as db:
        detail = await read_version(db, requested_name, version)
    return present_report(detail, assay.ruleset.version)


@get(f"{VERSION}/sarif", summary="Get the findings of a version as SARIF 2.1.0", responses=PROBLEMS)
async def get_sarif(assay: Assay, requested_name: RequestedName, version: FromPath[str]) -> Response[dict[str, Any]]:
    """Return a log with one run per scan, for code hosts and editors. Rule ids are stable.

    Findings that do not count, because a judge refuted or a person suppressed them, have `suppressions`.
    """
    async with assay.store.snapshot() as db:
        detail = await read_version(db, requested_name, version)
    log = version_log(
        detail.skill.name, detail.version.version, detail.scans, detail.deep_scans, detail.decisions, assay.ruleset
    )
    return _named(log, detail.skill, detail.version, "sarif", SARIF)


@get(f"{VERSION}/hallmark", summary="Get the hallmark of a version", responses=PROBLEMS)
async def get_hallmark(assay: Assay, requested_name: RequestedName, version: FromPath[str]) -> Response[dict[str, Any]]:
    """Return a DSSE envelope with an in-toto statement over every file. `assay verify` checks it offline."""
    async with assay.store.snapshot() as db:
        skill, found = await choose_version(db, requested_name, version)
    return _named(dict(found.hallmark), skill, found, "hallmark.json", "application/json")


@get(f"{VERSION}/skill.oms.sig", summary="Get the model signature of a version", responses=PROBLEMS)
async def get_oms_signature(
    assay: Assay, requested_name: RequestedName, version: FromPath[str]
) -> Response[dict[str, Any]]:
    """Return a Sigstore bundle. `model_signing verify key` checks it with the `ecdsa-p256` key of this registry."""
    async with assay.store.snapshot() as db:
        skill, found = await choose_version(db, requested_name, version)
        signature = await find_oms_signature(db, found.id)
        manifest = Manifest(tuple(await list_files(db, found.content_digest)))
    # Versions published before this signature existed are signed on request.
    signature = signature or sign_model(slug_in(skill.name), manifest, assay.keys.model)
    return _named(signature, skill, found, "oms.sig", "application/json")


def _named(content: Any, skill: Skill, version: SkillVersion, ending: str, media_type: str) -> Response[Any]:
    """Return a document with a file name that browsers use when saving it."""
    name = f"{slug_in(skill.name)}-{version.version}.{ending}"
    headers = {"Content-Disposition": content_disposition("inline", name)}
    return Response(content, media_type=media_type, headers=headers)
