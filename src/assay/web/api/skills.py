"""The catalogue: lists, searches, and the routes of one skill."""

from litestar import Router

from assay.web.access import PUBLIC
from assay.web.api.exports import get_hallmark, get_oms_signature, get_report, get_sarif
from assay.web.api.files import download, get_file, list_version_files
from assay.web.api.installs import check_for_updates, report_install, report_installs
from assay.web.api.listing import get_skill, get_skill_by_name
from assay.web.api.owners import router as owners
from assay.web.api.reports import report_skill
from assay.web.api.rescans import rescan
from assay.web.api.security import get_security
from assay.web.api.skill_lists import list_skills, search_skills
from assay.web.api.versions import compare_versions, diff_versions, get_version, list_versions

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
