CREATE TABLE github_token (
    key TEXT NOT NULL,
    rests_until TIMESTAMP WITH TIME ZONE,
    refused_until TIMESTAMP WITH TIME ZONE,
    noted_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT github_token_pkey PRIMARY KEY (key)
)
-- ;
CREATE TABLE github_allowance (
    key TEXT NOT NULL,
    resource TEXT NOT NULL,
    remaining INTEGER NOT NULL,
    resets_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT github_allowance_pkey PRIMARY KEY (key, resource),
    CONSTRAINT github_allowance_remaining_check CHECK (remaining >= 0)
)
-- ;
CREATE TABLE github_answer (
    key TEXT NOT NULL,
    url TEXT NOT NULL,
    etag TEXT NOT NULL,
    body BYTEA NOT NULL,
    kept_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT github_answer_pkey PRIMARY KEY (key, url)
)
-- ;
CREATE INDEX github_answer_kept_at_idx ON github_answer (kept_at)
-- ;
ALTER TABLE repository
    DROP CONSTRAINT repository_host_check,
    ADD CONSTRAINT repository_host_check CHECK (host IN ('git', 'github', 'upload'))
