"""Stored scans equal the originals."""

import pytest
from sqlalchemy import text

from assay.model.finding import Capabilities, Report
from assay.model.source import Source
from assay.policy.policy import Policy, static_verdict
from assay.scan.ruleset import load_ruleset
from assay.scan.scan import scan_source
from assay.store.scans.scans import ScannedContent, find_reports, list_scans, save_scans
from tests.support.registry import Registry
from tests.support.skills import a_bad_skill, a_skill

RULESET = load_ruleset()
REACHING = a_skill(body="See https://acme.io/ and ~/.acme/key.\n```bash\ncurl $ACME_KEY\n```")


async def saved(registry: Registry, *sources: Source) -> list[Report]:
    """Scan and store."""
    reports = [scan_source(source, RULESET) for source in sources]
    examined = [
        ScannedContent(source.manifest, report, static_verdict(report, Policy()))
        for source, report in zip(sources, reports, strict=True)
    ]
    async with registry.app.store.begin() as db:
        await save_scans(db, 1, examined)
    return reports


def a_source(files: dict[str, str]) -> Source:
    return Source({path: content.encode() for path, content in files.items()}, commit="0" * 40)


@pytest.mark.parametrize("files", [{"SKILL.md": a_skill()}, {"SKILL.md": REACHING}, a_bad_skill()])
async def test_stored_report_equals_a_fresh_one(registry: Registry, files: dict[str, str]) -> None:
    (report,) = await saved(registry, a_source(files))
    async with registry.app.store.begin() as db:
        kept = await find_reports(db, [report.digest], 1, report.engine, report.ruleset)
        (scan,) = await list_scans(db, report.digest)
    assert {report.digest: report} == kept
    assert report == scan.report


async def test_reports_of_a_batch_are_kept_apart(registry: Registry) -> None:
    sources = [a_source(files) for files in ({"SKILL.md": REACHING}, a_bad_skill(), {"SKILL.md": a_skill()})]
    reports = await saved(registry, *sources)
    assert len({report.capabilities for report in reports}) == len(reports)
    async with registry.app.store.begin() as db:
        kept = await find_reports(db, [each.digest for each in reports], 1, reports[0].engine, reports[0].ruleset)
    assert {report.digest: report for report in reports} == kept


async def test_scans_without_capabilities_are_read(registry: Registry) -> None:
    """Rows written before the column existed."""
    (report,) = await saved(registry, a_source({"SKILL.md": REACHING}))
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE scan SET capabilities = DEFAULT"))
        (scan,) = await list_scans(db, report.digest)
    assert Capabilities() == scan.report.capabilities
