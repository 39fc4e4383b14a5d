"""Filters of the catalogue as SQL conditions, on marks in the search document or on columns."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.model.skill import SkillFilters, TrustTier

LIVE = "skill.standing = 'live'"


@dataclass(frozen=True)
class Condition:
    sql: str
    values: Mapping[str, object]


NOTHING = Condition("true", {})


def by_marks(filters: SkillFilters) -> Condition:
    """Build one condition on the indexed search document; `true` without filters."""
    return _marked("marks", filters)


def by_columns(filters: SkillFilters) -> Condition:
    """Build conditions for rows that are read anyway: columns are cheaper to check than the document."""
    params = {"category": filters.category, "tier": filters.tier}
    conditions = [f"skill.{name} = :{name}" for name, value in params.items() if value]
    values: dict[str, object] = {name: value.value for name, value in params.items() if value}
    if filters.min_trust:
        conditions.append("skill.trust_tier >= :min_trust")
        values["min_trust"] = filters.min_trust.value
    named = _marked("named", SkillFilters(author=filters.author, source=filters.source, labels=filters.labels))
    return Condition(" AND ".join([*conditions, named.sql]), values | dict(named.values))


def _marked(name: str, filters: SkillFilters) -> Condition:
    marks = " & ".join(_marks(filters))
    return Condition(f"skill.search_document @@ CAST(:{name} AS tsquery)", {name: marks}) if marks else NOTHING


def _marks(filters: SkillFilters) -> list[str]:
    marks = [_mark(name, value) for name, value in (("category", filters.category), ("tier", filters.tier)) if value]
    if filters.min_trust:
        enough = [tier for tier in TrustTier if tier >= filters.min_trust]
        marks.append(f"({' | '.join(_mark('trust', tier) for tier in enough)})")
    if filters.author:
        author = filters.author.lower()
        marks.append(f"({_mark('author', author)} | {_mark('owner', author)})")
    if filters.source:
        marks.append(_mark("repo" if "/" in filters.source else "owner", filters.source.lower()))
    return marks + [_mark("label", label.lower()) for label in sorted(filters.labels)]


def _mark(name: str, value: str) -> str:
    """Quote a mark for use in a tsquery."""
    written = f"={name}:{value}".replace("\\", "\\\\").replace("'", "''")
    return f"'{written}'"
