CREATE TABLE account_token (
    id UUID NOT NULL,
    account_id UUID NOT NULL,
    token_digest TEXT NOT NULL,
    label TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_used_at TIMESTAMP WITH TIME ZONE,
    revoked_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT account_token_pkey PRIMARY KEY (id),
    CONSTRAINT account_token_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id) ON DELETE CASCADE,
    CONSTRAINT account_token_token_digest_key UNIQUE (token_digest),
    CONSTRAINT account_token_token_digest_check CHECK (token_digest ~ '^sha256:[0-9a-f]{64}$'),
    CONSTRAINT account_token_label_check CHECK (char_length(label) BETWEEN 1 AND 100)
)
-- ;
CREATE INDEX account_token_account_id_idx ON account_token (account_id)
