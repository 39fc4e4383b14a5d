ALTER TABLE submission DROP CONSTRAINT submission_origin_check, DROP CONSTRAINT submission_refusal_has_reason_check
-- ;
ALTER TABLE submission ADD CONSTRAINT submission_origin_check CHECK (origin IN ('api', 'bulk', 'cli', 'upload'))
-- ;
ALTER TABLE submission ADD CONSTRAINT submission_refusal_has_reason_check CHECK (state NOT IN ('BLOCKED', 'DEQUEUED', 'FAILED', 'NEEDS_REVIEW', 'ON_HOLD', 'REJECTED', 'TIER1_FAILED') OR (reason_code IS NOT NULL AND reason_message IS NOT NULL))
-- ;
DROP INDEX submission_active_idx
-- ;
CREATE INDEX submission_state_updated_at_idx ON submission (state, updated_at DESC, id DESC)
-- ;
CREATE INDEX submission_state_skill_name_idx ON submission (state, skill_name, id)
-- ;
CREATE INDEX submission_reason_idx ON submission (reason_code, created_at DESC, id DESC) WHERE reason_code IS NOT NULL
-- ;
CREATE INDEX submission_origin_idx ON submission (origin, created_at DESC, id DESC)
-- ;
CREATE INDEX submission_submitter_idx ON submission (submitter, created_at DESC, id DESC) WHERE submitter IS NOT NULL
-- ;
CREATE INDEX submission_lease_idx ON submission (lease_expires_at) WHERE lease_expires_at IS NOT NULL
-- ;
CREATE INDEX submission_skill_name_trigram_idx ON submission USING gin (lower(skill_name) gin_trgm_ops)
-- ;
ALTER TABLE submission_count_delta ADD COLUMN created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL
-- ;
CREATE TABLE submission_arrival (
    minute TIMESTAMP WITH TIME ZONE NOT NULL,
    state TEXT NOT NULL,
    number BIGINT NOT NULL,
    CONSTRAINT submission_arrival_pkey PRIMARY KEY (minute, state)
)
-- ;
ALTER TABLE change DROP CONSTRAINT change_submission_id_fkey, DROP CONSTRAINT change_skill_id_fkey
-- ;
ALTER TABLE change DROP CONSTRAINT change_kind_check
-- ;
ALTER TABLE change ADD CONSTRAINT change_kind_check CHECK (kind IN ('bulk', 'publish', 'submission'))
-- ;
CREATE TABLE skill_count (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    number BIGINT NOT NULL,
    CONSTRAINT skill_count_pkey PRIMARY KEY (id)
)
-- ;
CREATE FUNCTION count_skills() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO skill_count (number)
    SELECT CASE TG_OP WHEN 'INSERT' THEN number ELSE -number END
    FROM (SELECT count(*) AS number FROM changed) AS counted
    WHERE number > 0;
    RETURN NULL;
END
$$
-- ;
CREATE TRIGGER count_inserted AFTER INSERT ON skill REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_skills()
-- ;
CREATE TRIGGER count_deleted AFTER DELETE ON skill REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_skills()
-- ;
INSERT INTO skill_count (number) SELECT count(*) FROM skill HAVING count(*) > 0
-- ;
CREATE INDEX repository_merged_into_idx ON repository (merged_into_id) WHERE merged_into_id IS NOT NULL
-- ;
CREATE FUNCTION announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('assay_change', '');
    RETURN NULL;
END
$$
-- ;
CREATE TRIGGER announce_change AFTER INSERT ON change FOR EACH STATEMENT EXECUTE FUNCTION announce_change()
-- ;
CREATE TABLE queue_pause (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    reason TEXT NOT NULL,
    paused_by TEXT NOT NULL,
    paused_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    resumed_at TIMESTAMP WITH TIME ZONE,
    resumed_by TEXT,
    CONSTRAINT queue_pause_pkey PRIMARY KEY (id),
    CONSTRAINT queue_pause_said_check CHECK (reason <> '' AND paused_by <> ''),
    CONSTRAINT queue_pause_resumed_check CHECK ((resumed_at IS NULL) = (resumed_by IS NULL))
)
-- ;
CREATE UNIQUE INDEX queue_pause_open_key ON queue_pause ((true)) WHERE resumed_at IS NULL
-- ;
CREATE TABLE chore (
    name TEXT NOT NULL,
    every_seconds FLOAT NOT NULL,
    budget_seconds FLOAT NOT NULL,
    known_since TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    succeeded_at TIMESTAMP WITH TIME ZONE,
    duration_ms FLOAT,
    amount BIGINT,
    failed_at TIMESTAMP WITH TIME ZONE,
    error TEXT,
    failures INTEGER DEFAULT '0' NOT NULL,
    position TEXT,
    CONSTRAINT chore_pkey PRIMARY KEY (name)
)
-- ;
CREATE TABLE process (
    id UUID NOT NULL,
    kind TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    version TEXT NOT NULL,
    in_flight INTEGER DEFAULT '0' NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT process_pkey PRIMARY KEY (id)
)
-- ;
CREATE TABLE alarm (
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    raised_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT alarm_pkey PRIMARY KEY (code)
)
-- ;
CREATE TABLE audit_event (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail JSONB DEFAULT '{}'::jsonb NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT audit_event_pkey PRIMARY KEY (id)
)
-- ;
CREATE TABLE given_answer (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    request_digest TEXT NOT NULL,
    status SMALLINT,
    body JSON,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT given_answer_pkey PRIMARY KEY (scope, key),
    CONSTRAINT given_answer_request_digest_check CHECK (request_digest ~ '^sha256:[0-9a-f]{64}$')
)
-- ;
CREATE INDEX given_answer_created_at_idx ON given_answer (created_at)
-- ;
CREATE INDEX pgqueuer_held_idx ON pgqueuer (dedupe_key) WHERE status = 'failed'
-- ;
UPDATE pgqueuer SET dedupe_key = (document->>'subject_id') || ':' || (document->>'cycle')
FROM (SELECT id, convert_from(payload, 'UTF8')::jsonb AS document FROM pgqueuer WHERE entrypoint = 'submission') AS job
WHERE pgqueuer.id = job.id AND pgqueuer.dedupe_key IS NULL
