"""The catalogue: lists, searches, and the routes of one skill."""

from litestar import Router

from assay.web.findings.security import get_security
from assay.web.http.access import PUBLIC
from assay.web.moderation.reports import report_skill
from assay.web.moderation.rescans import rescan
from assay.web.skills.installs import check_for_updates, report_install, report_installs
from assay.web.skills.listing import get_skill, get_skill_by_name
from assay.web.skills.lists import list_skills, search_skills
from assay.web.versions.api import compare_versions, diff_versions, get_version, list_versions
from assay.web.versions.exports import get_hallmark, get_oms_signature, get_report, get_sarif
from assay.web.versions.files import download, get_file, list_version_files
from assay.web.versions.owners import router as owners

router = Router(
    "/api/v1/skills",
    tags=["skills"],
    opt=PUBLIC,
    route_handlers=[
        list_skills,
        search_skills,
        get_skill,
        get_skill_by_name,
        list_versions,
        get_version,
        diff_versions,
        compare_versions,
        list_version_files,
        get_file,
        download,
        get_report,
        get_sarif,
        get_hallmark,
        get_oms_signature,
        get_security,
        report_install,
        report_installs,
        check_for_updates,
        owners,
        report_skill,
        rescan,
    ],
)
