"""From pages of the catalogue to their JSON."""

import msgspec

from assay.model.repository import RepositoryName
from assay.serve.skills.query import SkillQuery
from assay.serve.skills.search import Facets, Hit, SkillPage
from assay.web.http.present import present_skill, repository_url
from assay.web.skills.json import (
    AlternateView,
    FacetsView,
    PaginationView,
    SearchHitsView,
    SearchPaginationView,
    SkillHitView,
    SkillListView,
)


def present_list(page: SkillPage, query: SkillQuery, web_url: str) -> SkillListView:
    """A list."""
    return SkillListView(
        skills=[present_hit(hit, web_url) for hit in page.hits],
        total=page.total,
        total_is_exact=page.total_is_exact,
        next_cursor=page.next_cursor,
        pagination=PaginationView(
            page=query.offset // query.limit + 1,
            limit=query.limit,
            total=page.total,
            total_pages=-(-page.total // query.limit),
        ),
        facets=_present_facets(page.facets),
    )


def present_hits(page: SkillPage, query: SkillQuery, web_url: str) -> SearchHitsView:
    """A search."""
    has_more = page.next_cursor is not None
    return SearchHitsView(
        results=[present_hit(hit, web_url) for hit in page.hits],
        pagination=SearchPaginationView(limit=query.limit, offset=query.offset, has_more=has_more),
        total=page.total,
        total_is_exact=page.total_is_exact,
        next_cursor=page.next_cursor,
        approximate=page.are_alike,
        facets=_present_facets(page.facets),
    )


def present_hit(hit: Hit, web_url: str) -> SkillHitView:
    """A listing as clients of the old platform know it."""
    skill, block = hit.skill, hit.block
    return SkillHitView(
        **msgspec.structs.asdict(present_skill(skill, web_url))
        | {
            "category": skill.category,
            "labels": list(skill.labels),
            "vskill_installs": skill.installs,
            "trending_7d": skill.trending_7d,
            "trending_30d": skill.trending_30d,
            "alternate_repos": [_present_alternate(each, web_url) for each in hit.listed.alternates],
            "is_tainted": False,
            "is_blocked": block is not None,
            "threat_type": block.threat if block else None,
            "severity": block.severity if block else None,
        }
    )


def _present_alternate(name: RepositoryName, web_url: str) -> AlternateView:
    return AlternateView(
        owner_slug=name.owner.lower(), repo_slug=name.name.lower(), repo_url=repository_url(name, web_url)
    )


def _present_facets(facets: Facets) -> FacetsView:
    return FacetsView(
        category=dict(facets.categories) if facets.categories is not None else None,
        tier=dict(facets.tiers) if facets.tiers is not None else None,
        is_exact=facets.are_exact,
    )
