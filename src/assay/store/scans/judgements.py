"""Judgements: scans of tier 2, keyed by content, model and prompt digest."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.finding import Finding
from assay.model.verdict import FindingRuling, Judgement, Usage, Verdict
from assay.store.database.records import json_text, recordset
from assay.store.scans.scans import FINDING_COLUMNS, FINDING_NAMES, finding_of

FIND = text(
    f"""
    SELECT scan.content_digest, scan.rulings, scan.model, scan.prompt_tokens, scan.completion_tokens, scan.cost_micros,
        scan.duration_ms, {", ".join(f"finding.{column.name}" for column in FINDING_COLUMNS)}
    FROM scan LEFT JOIN finding ON finding.scan_id = scan.id
    WHERE scan.content_digest = ANY(CAST(:digests AS text[])) AND scan.tier = 2 AND scan.engine = :engine
        AND scan.ruleset = :prompt AND scan.outcome <> 'ERROR'
    ORDER BY finding.id
    """
)
# A new judgement replaces a failure, or one that does not cover the current questions.
SAVE = text(
    f"""
    WITH kept AS (
        INSERT INTO scan (content_digest, tier, engine, ruleset, has_code, outcome, decision, path, score, duration_ms,
            model, prompt_tokens, completion_tokens, cost_micros, rulings)
        VALUES (:digest, 2, :engine, :prompt, :has_code, :outcome, :decision, :path, :score, :duration_ms,
            :model, :prompt_tokens, :completion_tokens, :cost_micros, CAST(:rulings AS jsonb))
        ON CONFLICT (content_digest, tier, engine, ruleset) DO UPDATE SET
            outcome = excluded.outcome, decision = excluded.decision, path = excluded.path, score = excluded.score,
            duration_ms = excluded.duration_ms, model = excluded.model,
            -- Earlier costs are added up.
            prompt_tokens = coalesce(scan.prompt_tokens, 0) + excluded.prompt_tokens,
            completion_tokens = coalesce(scan.completion_tokens, 0) + excluded.completion_tokens,
            cost_micros = coalesce(scan.cost_micros, 0) + excluded.cost_micros,
            rulings = excluded.rulings, problem = NULL, created_at = now()
        RETURNING id
    ), dropped AS (
        DELETE FROM finding USING kept WHERE finding.scan_id = kept.id
    )
    INSERT INTO finding (scan_id, {FINDING_NAMES})
    SELECT kept.id, {FINDING_NAMES}
    FROM kept, jsonb_to_recordset(CAST(:findings AS jsonb)) AS seen ({recordset(FINDING_COLUMNS)})
    """
)
# Keeps the time of the first failure, to tell how long the judge has been failing, and adds up the costs.
FAIL = text(
    """
    INSERT INTO scan (content_digest, tier, engine, ruleset, has_code, outcome, duration_ms, problem,
        prompt_tokens, completion_tokens, cost_micros)
    VALUES (:digest, 2, :engine, :prompt, :has_code, 'ERROR', 0, :problem,
        :prompt_tokens, :completion_tokens, :cost_micros)
    ON CONFLICT (content_digest, tier, engine, ruleset) DO UPDATE SET problem = excluded.problem,
        prompt_tokens = coalesce(scan.prompt_tokens, 0) + excluded.prompt_tokens,
        completion_tokens = coalesce(scan.completion_tokens, 0) + excluded.completion_tokens,
        cost_micros = coalesce(scan.cost_micros, 0) + excluded.cost_micros
        WHERE scan.outcome = 'ERROR'
    RETURNING created_at
    """
)


async def find_judgements(
    db: AsyncConnection, digests: Sequence[str], engine: str, prompt: str
) -> dict[str, Judgement]:
    """Return the stored judgements of this model and prompt about these contents; others are left out."""
    found: dict[str, Judgement] = {}
    rows = await db.execute(FIND, {"digests": list(digests), "engine": engine, "prompt": prompt})
    findings: dict[str, list[Finding]] = {}
    for digest, rulings, model, prompt_tokens, completion_tokens, cost, duration_ms, *columns in rows:
        if digest not in found:
            usage = Usage(prompt_tokens or 0, completion_tokens or 0, cost or 0)
            ruled = tuple(msgspec.convert(rulings, list[FindingRuling]))
            found[digest] = Judgement(engine, prompt, digest, (), ruled, model or "", usage, duration_ms)
        if columns[0] is not None:
            findings.setdefault(digest, []).append(finding_of(*columns))
    return {digest: replace(each, findings=tuple(findings.get(digest, ()))) for digest, each in found.items()}


async def save_judgement(db: AsyncConnection, judgement: Judgement, verdict: Verdict, *, has_code: bool) -> None:
    """Store a judgement with its verdict. The content must exist."""
    usage = judgement.usage
    values: dict[str, Any] = {
        "digest": judgement.digest,
        "engine": judgement.engine,
        "prompt": judgement.prompt,
        "has_code": has_code,
        "outcome": verdict.outcome.value,
        "decision": verdict.decision.value,
        "path": verdict.path.value,
        "score": verdict.score,
        "duration_ms": judgement.duration_ms,
        "model": judgement.model,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_micros": usage.cost_micros,
        "rulings": json_text(judgement.rulings),
        "findings": json_text(judgement.findings),
    }
    await db.execute(SAVE, values)


async def record_judge_error(
    db: AsyncConnection, digest: str, engine: str, prompt: str, paid: Usage, *, has_code: bool, problem: str
) -> datetime | None:
    """Record that the judge failed on this content, and the cost. Returns the time of the first failure, or None if a
    judgement has been stored since.
    """
    values = {
        "digest": digest,
        "engine": engine,
        "prompt": prompt,
        "has_code": has_code,
        "problem": problem[:500],
        "prompt_tokens": paid.prompt_tokens,
        "completion_tokens": paid.completion_tokens,
        "cost_micros": paid.cost_micros,
    }
    return (await db.execute(FAIL, values)).scalar_one_or_none()
