CREATE TABLE account (
    id UUID NOT NULL,
    github_id BIGINT,
    login TEXT NOT NULL,
    role TEXT NOT NULL,
    password_hash TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    disabled_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT account_pkey PRIMARY KEY (id),
    CONSTRAINT account_github_id_key UNIQUE (github_id),
    CONSTRAINT account_role_check CHECK (role IN ('SUPER_ADMIN', 'USER')),
    CONSTRAINT account_named_check CHECK (login <> ''),
    CONSTRAINT account_one_proof_check CHECK ((github_id IS NULL) = (password_hash IS NOT NULL))
)
-- ;
CREATE UNIQUE INDEX account_local_login_key ON account (lower(login)) WHERE github_id IS NULL
-- ;
CREATE TABLE account_session (
    id UUID NOT NULL,
    account_id UUID NOT NULL,
    token_digest TEXT NOT NULL,
    previous_digest TEXT,
    salt BYTEA,
    rotated_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revoked_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT account_session_pkey PRIMARY KEY (id),
    CONSTRAINT account_session_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id) ON DELETE CASCADE,
    CONSTRAINT account_session_token_digest_check CHECK (token_digest ~ '^sha256:[0-9a-f]{64}$'),
    CONSTRAINT account_session_previous_digest_check CHECK (previous_digest ~ '^sha256:[0-9a-f]{64}$'),
    CONSTRAINT account_session_rotated_check CHECK ((previous_digest IS NULL) = (salt IS NULL) AND (salt IS NULL) = (rotated_at IS NULL))
)
-- ;
CREATE INDEX account_session_account_id_idx ON account_session (account_id)
-- ;
CREATE INDEX account_session_expires_at_idx ON account_session (expires_at)
-- ;
CREATE TABLE sign_in_attempt (
    key TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT sign_in_attempt_pkey PRIMARY KEY (key),
    CONSTRAINT sign_in_attempt_key_check CHECK (key ~ '^sha256:[0-9a-f]{64}$')
)
-- ;
CREATE INDEX sign_in_attempt_until_idx ON sign_in_attempt (until)
