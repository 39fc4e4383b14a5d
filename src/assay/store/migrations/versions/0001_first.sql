CREATE EXTENSION IF NOT EXISTS pg_trgm
-- ;
CREATE TABLE repository (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    host TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    host_id BIGINT,
    default_branch TEXT,
    stars INTEGER,
    commit TEXT,
    resolved_at TIMESTAMP WITH TIME ZONE,
    merged_into_id BIGINT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT repository_pkey PRIMARY KEY (id),
    CONSTRAINT repository_host_check CHECK (host IN ('github', 'upload')),
    CONSTRAINT repository_named_check CHECK (owner <> '' AND name <> ''),
    CONSTRAINT repository_host_host_id_key UNIQUE (host, host_id),
    CONSTRAINT repository_merged_into_id_fkey FOREIGN KEY(merged_into_id) REFERENCES repository (id)
)
-- ;
CREATE UNIQUE INDEX repository_name_key ON repository (host, lower(owner), lower(name)) WHERE merged_into_id IS NULL
-- ;
CREATE INDEX repository_name_trigram_idx ON repository USING gin (lower(owner || '/'::text || name) gin_trgm_ops)
-- ;
CREATE TABLE content (
    digest TEXT NOT NULL,
    files JSONB NOT NULL,
    file_count INTEGER NOT NULL,
    size_bytes BIGINT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT content_pkey PRIMARY KEY (digest),
    CONSTRAINT content_digest_check CHECK (digest ~ '^sha256:[0-9a-f]{64}$'),
    CONSTRAINT content_file_count_check CHECK (file_count > 0)
)
-- ;
CREATE TABLE submission_count (
    state TEXT NOT NULL,
    total BIGINT NOT NULL,
    CONSTRAINT submission_count_pkey PRIMARY KEY (state)
)
-- ;
CREATE TABLE submission_count_delta (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    state TEXT NOT NULL,
    delta BIGINT NOT NULL,
    CONSTRAINT submission_count_delta_pkey PRIMARY KEY (id)
)
-- ;
CREATE TABLE signing_key (
    id TEXT NOT NULL,
    public_key TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT signing_key_pkey PRIMARY KEY (id)
)
-- ;
CREATE TABLE repository_alias (
    host TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    repository_id BIGINT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT repository_alias_pkey PRIMARY KEY (host, owner, name),
    CONSTRAINT repository_alias_lower_case_check CHECK (owner = lower(owner) AND name = lower(name)),
    CONSTRAINT repository_alias_repository_id_fkey FOREIGN KEY(repository_id) REFERENCES repository (id)
)
-- ;
CREATE TABLE scan (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    content_digest TEXT NOT NULL,
    tier SMALLINT NOT NULL,
    engine TEXT NOT NULL,
    ruleset TEXT NOT NULL,
    has_code BOOLEAN NOT NULL,
    outcome TEXT NOT NULL,
    decision TEXT,
    path TEXT,
    score SMALLINT,
    duration_ms FLOAT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT scan_pkey PRIMARY KEY (id),
    CONSTRAINT scan_subject_key UNIQUE (content_digest, tier, engine, ruleset),
    CONSTRAINT scan_outcome_check CHECK (outcome IN ('CONCERNS', 'ERROR', 'FAIL', 'PASS')),
    CONSTRAINT scan_decision_check CHECK (decision IN ('approve', 'refuse', 'review')),
    CONSTRAINT scan_tier_check CHECK (tier BETWEEN 1 AND 3),
    CONSTRAINT scan_score_check CHECK (score BETWEEN 0 AND 100),
    CONSTRAINT scan_error_is_no_verdict_check CHECK ((outcome = 'ERROR') = (score IS NULL)),
    CONSTRAINT scan_content_digest_fkey FOREIGN KEY(content_digest) REFERENCES content (digest)
)
-- ;
CREATE TABLE skill (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    repository_id BIGINT NOT NULL,
    skill_path TEXT NOT NULL,
    display_name TEXT NOT NULL,
    description TEXT NOT NULL,
    author TEXT NOT NULL,
    license TEXT,
    labels TEXT[] DEFAULT '{}'::text[] NOT NULL,
    tier TEXT NOT NULL,
    method TEXT NOT NULL,
    score SMALLINT NOT NULL,
    trust_score SMALLINT NOT NULL,
    trust_tier TEXT NOT NULL,
    certified_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    current_version_id UUID NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    search_document TSVECTOR GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(name, '/-_.', '    ')), 'A') || setweight(to_tsvector('simple', display_name), 'A') || setweight(to_tsvector('english', description), 'B') || setweight(to_tsvector('simple', author), 'C')) STORED,
    search_text TEXT GENERATED ALWAYS AS (lower(name || ' ' || display_name || ' ' || description || ' ' || author)) STORED,
    CONSTRAINT skill_pkey PRIMARY KEY (id),
    CONSTRAINT skill_repository_id_skill_path_key UNIQUE (repository_id, skill_path),
    CONSTRAINT skill_tier_check CHECK (tier IN ('CERTIFIED', 'SCANNED', 'VERIFIED')),
    CONSTRAINT skill_method_check CHECK (method IN ('judge', 'review', 'static')),
    CONSTRAINT skill_trust_tier_check CHECK (trust_tier IN ('T0', 'T1', 'T2', 'T3', 'T4')),
    CONSTRAINT skill_score_check CHECK (score BETWEEN 0 AND 100),
    CONSTRAINT skill_trust_score_check CHECK (trust_score BETWEEN 0 AND 100),
    CONSTRAINT skill_name_check CHECK (name ~ '^[^/]+/[^/]+/[^/]+$'),
    CONSTRAINT skill_name_key UNIQUE (name),
    CONSTRAINT skill_repository_id_fkey FOREIGN KEY(repository_id) REFERENCES repository (id)
)
-- ;
CREATE INDEX skill_search_text_idx ON skill USING gin (search_text gin_trgm_ops)
-- ;
CREATE INDEX skill_updated_at_idx ON skill (updated_at DESC, id DESC)
-- ;
CREATE INDEX skill_search_document_idx ON skill USING gin (search_document)
-- ;
CREATE TABLE finding (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    scan_id BIGINT NOT NULL,
    rule_id TEXT NOT NULL,
    family TEXT NOT NULL,
    severity TEXT NOT NULL,
    confidence FLOAT NOT NULL,
    file TEXT NOT NULL,
    line INTEGER NOT NULL,
    excerpt TEXT NOT NULL,
    message TEXT NOT NULL,
    remediation TEXT NOT NULL,
    CONSTRAINT finding_pkey PRIMARY KEY (id),
    CONSTRAINT finding_severity_check CHECK (severity IN ('critical', 'high', 'info', 'low', 'medium')),
    CONSTRAINT finding_confidence_check CHECK (confidence BETWEEN 0 AND 1),
    CONSTRAINT finding_scan_id_fkey FOREIGN KEY(scan_id) REFERENCES scan (id) ON DELETE CASCADE
)
-- ;
CREATE INDEX finding_scan_id_idx ON finding (scan_id)
-- ;
CREATE TABLE skill_version (
    id UUID NOT NULL,
    skill_id UUID NOT NULL,
    version TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    content_digest TEXT NOT NULL,
    commit TEXT NOT NULL,
    scan_id BIGINT NOT NULL,
    tier TEXT NOT NULL,
    score SMALLINT NOT NULL,
    hallmark JSONB NOT NULL,
    published_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT skill_version_pkey PRIMARY KEY (id),
    CONSTRAINT skill_version_skill_id_version_key UNIQUE (skill_id, version),
    CONSTRAINT skill_version_skill_id_content_digest_key UNIQUE (skill_id, content_digest),
    CONSTRAINT skill_version_skill_id_ordinal_key UNIQUE (skill_id, ordinal),
    CONSTRAINT skill_version_tier_check CHECK (tier IN ('CERTIFIED', 'SCANNED', 'VERIFIED')),
    CONSTRAINT skill_version_version_check CHECK (version <> ''),
    CONSTRAINT skill_version_commit_check CHECK (commit ~ '^([0-9a-f]{40}|sha256:[0-9a-f]{64})$'),
    CONSTRAINT skill_version_skill_id_fkey FOREIGN KEY(skill_id) REFERENCES skill (id) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT skill_version_content_digest_fkey FOREIGN KEY(content_digest) REFERENCES content (digest),
    CONSTRAINT skill_version_scan_id_fkey FOREIGN KEY(scan_id) REFERENCES scan (id)
)
-- ;
CREATE TABLE submission (
    id UUID NOT NULL,
    repository_id BIGINT NOT NULL,
    skill_name TEXT NOT NULL,
    skill_path TEXT NOT NULL,
    state TEXT NOT NULL,
    version INTEGER DEFAULT '1' NOT NULL,
    cycle INTEGER DEFAULT '1' NOT NULL,
    priority INTEGER DEFAULT '0' NOT NULL,
    attempts INTEGER DEFAULT '0' NOT NULL,
    claims INTEGER DEFAULT '0' NOT NULL,
    origin TEXT NOT NULL,
    submitter TEXT,
    upload_digest TEXT,
    content_digest TEXT,
    skill_id UUID,
    score SMALLINT,
    reason_code TEXT,
    reason_message TEXT,
    next_step TEXT,
    lease_owner TEXT,
    lease_expires_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    received_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    scanning_at TIMESTAMP WITH TIME ZONE,
    decided_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT submission_pkey PRIMARY KEY (id),
    CONSTRAINT submission_repository_id_skill_name_skill_path_key UNIQUE (repository_id, skill_name, skill_path),
    CONSTRAINT submission_state_check CHECK (state IN ('AUTO_APPROVED', 'BLOCKED', 'DEQUEUED', 'FAILED', 'NEEDS_REVIEW', 'ON_HOLD', 'PUBLISHED', 'RECEIVED', 'REJECTED', 'TIER1_FAILED', 'TIER1_SCANNING', 'TIER2_SCANNING')),
    CONSTRAINT submission_origin_check CHECK (origin IN ('api', 'cli', 'upload')),
    CONSTRAINT submission_upload_digest_check CHECK (upload_digest ~ '^sha256:[0-9a-f]{64}$'),
    CONSTRAINT submission_counters_check CHECK (version > 0 AND cycle > 0 AND attempts >= 0 AND claims >= 0),
    CONSTRAINT submission_lease_check CHECK ((lease_owner IS NULL) = (lease_expires_at IS NULL)),
    CONSTRAINT submission_refusal_has_reason_check CHECK (state NOT IN ('BLOCKED', 'FAILED', 'NEEDS_REVIEW', 'REJECTED', 'TIER1_FAILED') OR (reason_code IS NOT NULL AND reason_message IS NOT NULL)),
    CONSTRAINT submission_published_is_listed_check CHECK (state <> 'PUBLISHED' OR skill_id IS NOT NULL),
    CONSTRAINT submission_repository_id_fkey FOREIGN KEY(repository_id) REFERENCES repository (id),
    CONSTRAINT submission_content_digest_fkey FOREIGN KEY(content_digest) REFERENCES content (digest),
    CONSTRAINT submission_skill_id_fkey FOREIGN KEY(skill_id) REFERENCES skill (id)
)
-- ;
CREATE INDEX submission_state_created_at_idx ON submission (state, created_at DESC, id DESC)
-- ;
CREATE INDEX submission_active_idx ON submission (updated_at) WHERE state IN ('RECEIVED', 'TIER1_SCANNING', 'TIER2_SCANNING')
-- ;
CREATE INDEX submission_created_at_idx ON submission (created_at DESC, id DESC)
-- ;
CREATE TABLE submission_event (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    submission_id UUID NOT NULL,
    from_state TEXT,
    to_state TEXT NOT NULL,
    trigger TEXT NOT NULL,
    actor TEXT NOT NULL,
    metadata JSONB DEFAULT '{}'::jsonb NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT submission_event_pkey PRIMARY KEY (id),
    CONSTRAINT submission_event_from_state_check CHECK (from_state IN ('AUTO_APPROVED', 'BLOCKED', 'DEQUEUED', 'FAILED', 'NEEDS_REVIEW', 'ON_HOLD', 'PUBLISHED', 'RECEIVED', 'REJECTED', 'TIER1_FAILED', 'TIER1_SCANNING', 'TIER2_SCANNING')),
    CONSTRAINT submission_event_to_state_check CHECK (to_state IN ('AUTO_APPROVED', 'BLOCKED', 'DEQUEUED', 'FAILED', 'NEEDS_REVIEW', 'ON_HOLD', 'PUBLISHED', 'RECEIVED', 'REJECTED', 'TIER1_FAILED', 'TIER1_SCANNING', 'TIER2_SCANNING')),
    CONSTRAINT submission_event_submission_id_fkey FOREIGN KEY(submission_id) REFERENCES submission (id)
)
-- ;
CREATE INDEX submission_event_submission_idx ON submission_event (submission_id, id)
-- ;
CREATE TABLE change (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    transaction_id xid8 DEFAULT pg_current_xact_id() NOT NULL,
    serial BIGINT,
    kind TEXT NOT NULL,
    submission_id UUID,
    skill_id UUID,
    data JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT change_pkey PRIMARY KEY (id),
    CONSTRAINT change_kind_check CHECK (kind IN ('publish', 'submission')),
    CONSTRAINT change_serial_key UNIQUE (serial),
    CONSTRAINT change_submission_id_fkey FOREIGN KEY(submission_id) REFERENCES submission (id),
    CONSTRAINT change_skill_id_fkey FOREIGN KEY(skill_id) REFERENCES skill (id)
)
-- ;
CREATE INDEX change_unnumbered_idx ON change (transaction_id, id) WHERE serial IS NULL
-- ;
ALTER TABLE skill ADD CONSTRAINT skill_current_version_id_fkey FOREIGN KEY(current_version_id) REFERENCES skill_version (id) DEFERRABLE INITIALLY DEFERRED
-- ;
CREATE FUNCTION count_submissions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO submission_count_delta (state, delta)
        SELECT state, count(*) FROM fresh GROUP BY state;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO submission_count_delta (state, delta)
        SELECT state, -count(*) FROM stale GROUP BY state;
    ELSE
        INSERT INTO submission_count_delta (state, delta)
        SELECT state, sum(step)
        FROM (SELECT state, 1 AS step FROM fresh UNION ALL SELECT state, -1 FROM stale) AS steps
        GROUP BY state
        HAVING sum(step) <> 0;
    END IF;
    RETURN NULL;
END
$$
-- ;
CREATE TRIGGER count_inserted AFTER INSERT ON submission REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_submissions()
-- ;
CREATE TRIGGER count_deleted AFTER DELETE ON submission REFERENCING OLD TABLE AS stale FOR EACH STATEMENT EXECUTE FUNCTION count_submissions()
-- ;
CREATE TRIGGER count_updated AFTER UPDATE ON submission REFERENCING NEW TABLE AS fresh OLD TABLE AS stale FOR EACH STATEMENT EXECUTE FUNCTION count_submissions()
