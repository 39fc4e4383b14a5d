CREATE TABLE review (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    submission_id UUID NOT NULL,
    content_digest TEXT NOT NULL,
    ruling TEXT NOT NULL,
    reason TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    seen TEXT[] DEFAULT '{}'::text[] NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT review_pkey PRIMARY KEY (id),
    CONSTRAINT review_ruling_check CHECK (ruling IN ('approved', 'rejected')),
    CONSTRAINT review_said_check CHECK (reason <> '' AND reviewer <> ''),
    CONSTRAINT review_submission_id_fkey FOREIGN KEY(submission_id) REFERENCES submission (id),
    CONSTRAINT review_content_digest_fkey FOREIGN KEY(content_digest) REFERENCES content (digest)
)
-- ;
CREATE INDEX review_content_idx ON review (content_digest, id)
-- ;
CREATE INDEX review_submission_idx ON review (submission_id, content_digest, id)
-- ;
CREATE TABLE appeal (
    id UUID NOT NULL,
    submission_id UUID NOT NULL,
    content_digest TEXT NOT NULL,
    text TEXT NOT NULL,
    appellant TEXT NOT NULL,
    status TEXT DEFAULT 'open' NOT NULL,
    answer TEXT,
    answered_by TEXT,
    answered_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT appeal_pkey PRIMARY KEY (id),
    CONSTRAINT appeal_submission_id_content_digest_key UNIQUE (submission_id, content_digest),
    CONSTRAINT appeal_status_check CHECK (status IN ('granted', 'open', 'refused')),
    CONSTRAINT appeal_text_check CHECK (char_length(text) BETWEEN 1 AND 4000),
    CONSTRAINT appeal_answered_check CHECK (num_nulls(answer, answered_by, answered_at) = CASE status WHEN 'open' THEN 3 ELSE 0 END),
    CONSTRAINT appeal_submission_id_fkey FOREIGN KEY(submission_id) REFERENCES submission (id),
    CONSTRAINT appeal_content_digest_fkey FOREIGN KEY(content_digest) REFERENCES content (digest)
)
-- ;
CREATE TABLE suppression (
    id UUID NOT NULL,
    scope TEXT NOT NULL,
    rule_id TEXT NOT NULL,
    file TEXT NOT NULL,
    repository_id BIGINT NOT NULL,
    skill_path TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    excerpts TEXT[] NOT NULL,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    reason TEXT NOT NULL,
    added_by TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    ended_by TEXT,
    ended_reason TEXT,
    CONSTRAINT suppression_pkey PRIMARY KEY (id),
    CONSTRAINT suppression_scope_check CHECK (scope IN ('content', 'skill')),
    CONSTRAINT suppression_said_check CHECK (reason <> '' AND added_by <> ''),
    CONSTRAINT suppression_ended_check CHECK (num_nulls(ended_at, ended_by, ended_reason) IN (0, 3)),
    CONSTRAINT suppression_repository_id_fkey FOREIGN KEY(repository_id) REFERENCES repository (id),
    CONSTRAINT suppression_content_digest_fkey FOREIGN KEY(content_digest) REFERENCES content (digest)
)
-- ;
CREATE INDEX suppression_content_idx ON suppression (content_digest)
-- ;
CREATE UNIQUE INDEX suppression_finding_key ON suppression (scope, rule_id, file, repository_id, skill_path, content_digest) WHERE ended_at IS NULL
-- ;
CREATE INDEX suppression_skill_idx ON suppression (repository_id, skill_path)
-- ;
CREATE INDEX suppression_until_idx ON suppression (until) WHERE ended_at IS NULL
-- ;
CREATE TABLE security_report (
    id UUID NOT NULL,
    skill_id UUID NOT NULL,
    version TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    category TEXT NOT NULL,
    text TEXT NOT NULL,
    reporter TEXT,
    outcome TEXT,
    answer TEXT,
    answered_by TEXT,
    answered_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT security_report_pkey PRIMARY KEY (id),
    CONSTRAINT security_report_category_check CHECK (category IN ('credential-theft', 'data-exfiltration', 'destructive', 'impersonation', 'malware', 'other', 'prompt-injection', 'social-engineering', 'supply-chain')),
    CONSTRAINT security_report_outcome_check CHECK (outcome IN ('blocked', 'dismissed', 'withdrawn')),
    CONSTRAINT security_report_text_check CHECK (char_length(text) BETWEEN 1 AND 4000),
    CONSTRAINT security_report_answered_check CHECK (num_nulls(outcome, answer, answered_by, answered_at) IN (0, 4)),
    CONSTRAINT security_report_skill_id_fkey FOREIGN KEY(skill_id) REFERENCES skill (id)
)
-- ;
CREATE INDEX security_report_open_idx ON security_report (id) WHERE outcome IS NULL
-- ;
CREATE INDEX security_report_skill_idx ON security_report (skill_id, id)
-- ;
CREATE INDEX submission_content_digest_idx ON submission (content_digest) WHERE content_digest IS NOT NULL
