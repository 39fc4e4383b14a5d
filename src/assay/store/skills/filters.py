"""Filters of the catalogue as conditions: marks of the search document, which its index leads to, or columns."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.model.skill import TrustTier
from assay.model.skill_list import Filters

LIVE = "skill.standing = 'live'"


@dataclass(frozen=True)
class Condition:
    """SQL, and the values it needs."""

    sql: str
    values: Mapping[str, object]


NOTHING = Condition("true", {})


def by_marks(filters: Filters) -> Condition:
    """Everything at once, in the index; `true` if nothing is asked for."""
    return _marked("marks", filters)


def by_columns(filters: Filters) -> Condition:
    """The same for rows that are read anyway: what has a column is cheaper to look at than the document."""
    given = {"category": filters.category, "tier": filters.tier}
    conditions = [f"skill.{name} = :{name}" for name, value in given.items() if value]
    values: dict[str, object] = {name: value.value for name, value in given.items() if value}
    if filters.min_trust:
        conditions.append("skill.trust_tier >= :min_trust")
        values["min_trust"] = filters.min_trust.value
    named = _marked("named", Filters(author=filters.author, source=filters.source, labels=filters.labels))
    return Condition(" AND ".join([*conditions, named.sql]), values | dict(named.values))


def _marked(name: str, filters: Filters) -> Condition:
    marks = " & ".join(_marks(filters))
    return Condition(f"skill.search_document @@ CAST(:{name} AS tsquery)", {name: marks}) if marks else NOTHING


def _marks(filters: Filters) -> list[str]:
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
    """A mark as a word of a query, quoted whatever is in it."""
    written = f"={name}:{value}".replace("\\", "\\\\").replace("'", "''")
    return f"'{written}'"
