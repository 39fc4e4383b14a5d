ALTER TABLE scan
    ADD COLUMN model text,
    ADD COLUMN prompt_tokens bigint,
    ADD COLUMN completion_tokens bigint,
    ADD COLUMN cost_micros bigint,
    ADD COLUMN rulings jsonb DEFAULT '[]'::jsonb NOT NULL,
    ADD COLUMN problem text
-- ;
ALTER TABLE skill_version ADD COLUMN oms_signature jsonb
-- ;
ALTER TABLE signing_key
    ADD COLUMN algorithm text DEFAULT 'ed25519' NOT NULL,
    ADD COLUMN retired_at timestamp with time zone,
    ADD CONSTRAINT signing_key_algorithm_check CHECK (algorithm IN ('ecdsa-p256', 'ed25519'))
-- ;
CREATE TABLE llm_day (
    day date NOT NULL,
    calls bigint DEFAULT '0' NOT NULL,
    prompt_tokens bigint DEFAULT '0' NOT NULL,
    completion_tokens bigint DEFAULT '0' NOT NULL,
    cost_micros bigint DEFAULT '0' NOT NULL,
    stopped_at timestamp with time zone,
    CONSTRAINT llm_day_pkey PRIMARY KEY (day)
)
-- ;
CREATE TABLE llm_endpoint (
    model text NOT NULL,
    failures integer DEFAULT '0' NOT NULL,
    problem text,
    failed_at timestamp with time zone,
    answered_at timestamp with time zone,
    CONSTRAINT llm_endpoint_pkey PRIMARY KEY (model)
)
-- ;
CREATE TABLE second_look (
    content_digest text NOT NULL,
    why text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    failures integer DEFAULT '0' NOT NULL,
    problem text,
    CONSTRAINT second_look_pkey PRIMARY KEY (content_digest),
    CONSTRAINT second_look_why_check CHECK (why IN ('fast-approve', 'ruleset')),
    CONSTRAINT second_look_content_digest_fkey FOREIGN KEY (content_digest) REFERENCES content (digest)
)
-- ;
CREATE INDEX second_look_due_at_idx ON second_look (due_at)
-- ;
CREATE TABLE ruleset (
    version text NOT NULL,
    activated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ruleset_pkey PRIMARY KEY (version)
)
-- ;
CREATE TABLE replay (
    ruleset text NOT NULL,
    content_digest text NOT NULL,
    outcome text NOT NULL,
    decision text NOT NULL,
    score smallint NOT NULL,
    reason text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT replay_pkey PRIMARY KEY (ruleset, content_digest),
    CONSTRAINT replay_outcome_check CHECK (outcome IN ('CONCERNS', 'ERROR', 'FAIL', 'PASS')),
    CONSTRAINT replay_decision_check CHECK (decision IN ('approve', 'refuse', 'review')),
    CONSTRAINT replay_score_check CHECK (score BETWEEN 0 AND 100),
    CONSTRAINT replay_content_digest_fkey FOREIGN KEY (content_digest) REFERENCES content (digest)
)
