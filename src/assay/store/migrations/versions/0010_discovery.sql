ALTER TABLE submission DROP CONSTRAINT submission_origin_check
-- ;
ALTER TABLE submission ADD CONSTRAINT submission_origin_check CHECK (origin IN ('api', 'bulk', 'cli', 'discovery', 'upload'))
-- ;
CREATE TABLE discovery_source (
    name TEXT NOT NULL,
    every_seconds FLOAT NOT NULL,
    floor_seconds FLOAT NOT NULL,
    shows_all BOOLEAN DEFAULT false NOT NULL,
    is_scheduled BOOLEAN DEFAULT false NOT NULL,
    known_since TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    checkpoint JSONB,
    cycle_started_at TIMESTAMP WITH TIME ZONE,
    completed_at TIMESTAMP WITH TIME ZONE,
    run_id UUID,
    lease_until TIMESTAMP WITH TIME ZONE,
    next_run_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    finished_at TIMESTAMP WITH TIME ZONE,
    runs BIGINT DEFAULT '0' NOT NULL,
    flat_runs INTEGER DEFAULT '0' NOT NULL,
    failures INTEGER DEFAULT '0' NOT NULL,
    problem TEXT,
    found BIGINT DEFAULT '0' NOT NULL,
    found_at TIMESTAMP WITH TIME ZONE,
    new_at TIMESTAMP WITH TIME ZONE,
    sees BOOLEAN,
    probed_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT discovery_source_pkey PRIMARY KEY (name)
)
-- ;
CREATE TABLE discovery_run (
    id UUID NOT NULL,
    source TEXT NOT NULL,
    started_by TEXT NOT NULL,
    most INTEGER NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    outcome TEXT,
    problem TEXT,
    calls INTEGER DEFAULT '0' NOT NULL,
    found INTEGER DEFAULT '0' NOT NULL,
    "new" INTEGER DEFAULT '0' NOT NULL,
    skipped_dedup INTEGER DEFAULT '0' NOT NULL,
    looked INTEGER DEFAULT '0' NOT NULL,
    enqueued INTEGER DEFAULT '0' NOT NULL,
    existing INTEGER DEFAULT '0' NOT NULL,
    errors INTEGER DEFAULT '0' NOT NULL,
    repo_stats JSONB DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT discovery_run_pkey PRIMARY KEY (id),
    CONSTRAINT discovery_run_outcome_check CHECK (outcome IN ('capped', 'complete', 'died', 'failed', 'lost', 'rate_limited', 'spent', 'stopped', 'timeout')),
    CONSTRAINT discovery_run_finished_check CHECK ((finished_at IS NULL) = (outcome IS NULL))
)
-- ;
CREATE INDEX discovery_run_source_started_at_idx ON discovery_run (source, started_at DESC)
-- ;
CREATE INDEX discovery_run_started_at_idx ON discovery_run (started_at)
-- ;
CREATE TABLE discovery_record (
    host TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    full_name TEXT NOT NULL,
    source TEXT NOT NULL,
    state TEXT DEFAULT 'found' NOT NULL,
    paths TEXT[] DEFAULT '{}'::text[] NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE,
    found_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    due_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    held_by UUID,
    attempts INTEGER DEFAULT '0' NOT NULL,
    looked_at TIMESTAMP WITH TIME ZONE,
    commit TEXT,
    skills INTEGER DEFAULT '0' NOT NULL,
    problem TEXT,
    CONSTRAINT discovery_record_pkey PRIMARY KEY (host, owner, name),
    CONSTRAINT discovery_record_state_check CHECK (state IN ('empty', 'found', 'missing', 'refused', 'submitted')),
    CONSTRAINT discovery_record_lower_case_check CHECK (owner = lower(owner) AND name = lower(name))
)
-- ;
CREATE INDEX discovery_record_due_idx ON discovery_record (source, due_at) WHERE state = 'found'
-- ;
CREATE TABLE discovery_known (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    known_since TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT discovery_known_pkey PRIMARY KEY (owner, name)
)
-- ;
CREATE TABLE discovery_sighting (
    source TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT discovery_sighting_pkey PRIMARY KEY (source, owner, name)
)
