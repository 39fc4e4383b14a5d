"""What others check a version with: report, SARIF, hallmark, and the signature for tools of models."""

from typing import Any

from litestar import Response, get
from litestar.params import FromPath

from assay.app.app import App
from assay.certify.oms import sign_model
from assay.model.naming import slug_in
from assay.model.skill import Skill, SkillVersion
from assay.model.source import Manifest
from assay.serve.scans.version_log import version_log
from assay.serve.versions.versions import choose_version, read_version
from assay.store.scans.contents import list_files
from assay.store.skills.skills import find_oms_signature
from assay.web.http.dependencies import Assay
from assay.web.http.json import ScanView, View
from assay.web.http.present import present_scan
from assay.web.http.problems import problems
from assay.web.scans.deep_scan_json import DeepScanView, present_deep_scan
from assay.web.versions.naming import disposition, wanted_name

REFUSALS = problems(300, 400, 404, 410, 503)
VERSION = "/{owner:str}/{repo:str}/{skill:str}/versions/{version:str}"
SARIF = "application/sarif+json"


class ReportView(View, frozen=True):
    """Everything that was found out about one version."""

    name: str
    version: str
    content_digest: str
    commit: str
    score: int
    scans: list[ScanView]
    deep_scans: list[DeepScanView]


def _named(content: Any, skill: Skill, version: SkillVersion, ending: str, media_type: str) -> Response[Any]:
    """A document that browsers save under a name that says what it is."""
    name = f"{slug_in(skill.name)}-{version.version}.{ending}"
    return Response(content, media_type=media_type, headers={"Content-Disposition": disposition("inline", name)})


@get(f"{VERSION}/report", summary="The report on a version", responses=REFUSALS)
async def get_report(
    assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str], version: FromPath[str]
) -> ReportView:
    """All scans with their findings, newest first; what a judge refuted or a person suppressed, and why; what external
    tools say.
    """
    async with assay.store.snapshot() as db:
        detail = await read_version(db, wanted_name(owner, repo, skill), version)
    return ReportView(
        name=detail.skill.name,
        version=detail.version.version,
        content_digest=detail.version.content_digest,
        commit=detail.version.commit,
        score=detail.version.score,
        scans=[present_scan(scan, assay.ruleset.version, detail.said) for scan in detail.scans],
        deep_scans=[present_deep_scan(scan) for scan in detail.deep_scans],
    )


@get(f"{VERSION}/sarif", summary="The findings in a version as SARIF 2.1.0", responses=REFUSALS)
async def get_sarif(
    assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str], version: FromPath[str]
) -> Response[dict[str, Any]]:
    """One run for each scan of each tier, with stable ids of rules, tier, engine and ruleset, as code hosts and editors
    read it. What does not count, because a judge refuted it or a person suppressed it, has `suppressions`.
    """
    async with assay.store.snapshot() as db:
        detail = await read_version(db, wanted_name(owner, repo, skill), version)
    log = version_log(
        detail.skill.name, detail.version.version, detail.scans, detail.deep_scans, detail.said, assay.ruleset
    )
    return _named(log, detail.skill, detail.version, "sarif", SARIF)


@get(f"{VERSION}/hallmark", summary="The hallmark of a version", responses=REFUSALS)
async def get_hallmark(
    assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str], version: FromPath[str]
) -> Response[dict[str, Any]]:
    """A DSSE envelope around an in-toto statement over every file; `assay verify` checks it without this registry."""
    async with assay.store.snapshot() as db:
        listing, found = await choose_version(db, wanted_name(owner, repo, skill), version)
    return _named(dict(found.hallmark), listing, found, "hallmark.json", "application/json")


@get(f"{VERSION}/skill.oms.sig", summary="The signature for tools of models", responses=REFUSALS)
async def get_oms_signature(
    assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str], version: FromPath[str]
) -> Response[dict[str, Any]]:
    """A Sigstore bundle that `model_signing verify key` checks with the `ecdsa-p256` key of this registry."""
    async with assay.store.snapshot() as db:
        listing, found = await choose_version(db, wanted_name(owner, repo, skill), version)
        kept = await find_oms_signature(db, found.id)
        manifest = Manifest(tuple(await list_files(db, found.content_digest)))
    return _named(kept or _signed_now(assay, listing, manifest), listing, found, "oms.sig", "application/json")


def _signed_now(assay: App, listing: Skill, manifest: Manifest) -> dict[str, object]:
    """What was published before there was such a signature gets one when it is asked for."""
    return sign_model(slug_in(listing.name), manifest, assay.keys.model)
