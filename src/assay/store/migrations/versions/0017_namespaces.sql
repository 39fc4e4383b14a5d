CREATE TABLE namespace (
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    github_id BIGINT,
    account_id UUID,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT namespace_pkey PRIMARY KEY (name),
    CONSTRAINT namespace_kind_check CHECK (kind IN ('account', 'git', 'github', 'operator')),
    CONSTRAINT namespace_name_check CHECK (name = lower(name) AND name <> '' AND name !~ '/'),
    CONSTRAINT namespace_account_check CHECK ((kind = 'account') = (account_id IS NOT NULL)),
    CONSTRAINT namespace_github_check CHECK (kind = 'github' OR github_id IS NULL),
    CONSTRAINT namespace_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id)
)
-- ;
CREATE INDEX namespace_account_id_idx ON namespace (account_id)
-- ;
CREATE INDEX namespace_github_id_idx ON namespace (github_id)
-- ;
CREATE TABLE namespace_claim (
    id UUID NOT NULL,
    namespace TEXT NOT NULL,
    collection TEXT,
    account_id UUID NOT NULL,
    method TEXT NOT NULL,
    detail JSONB DEFAULT '{}'::jsonb NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    created_by TEXT NOT NULL,
    revoked_at TIMESTAMP WITH TIME ZONE,
    revoked_by TEXT,
    CONSTRAINT namespace_claim_pkey PRIMARY KEY (id),
    CONSTRAINT namespace_claim_method_check CHECK (method IN ('admin', 'challenge', 'github_organisation')),
    CONSTRAINT namespace_claim_collection_check CHECK (collection = lower(collection)),
    CONSTRAINT namespace_claim_revoked_check CHECK ((revoked_at IS NULL) = (revoked_by IS NULL)),
    CONSTRAINT namespace_claim_namespace_fkey FOREIGN KEY (namespace) REFERENCES namespace (name),
    CONSTRAINT namespace_claim_account_id_fkey FOREIGN KEY (account_id) REFERENCES account (id) ON DELETE CASCADE
)
-- ;
CREATE INDEX namespace_claim_account_id_idx ON namespace_claim (account_id)
-- ;
CREATE UNIQUE INDEX namespace_claim_active_key ON namespace_claim (namespace, coalesce(collection, ''), account_id)
WHERE revoked_at IS NULL
-- ;
CREATE TABLE queue_share (
    key TEXT NOT NULL,
    turn BIGINT NOT NULL,
    virtual_time BIGINT NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT queue_share_pkey PRIMARY KEY (key),
    CONSTRAINT queue_share_key_check CHECK (key ~ '^sha256:[0-9a-f]{64}$')
)
-- ;
CREATE INDEX queue_share_turn_idx ON queue_share (turn)
-- ;
CREATE INDEX queue_share_virtual_time_idx ON queue_share (virtual_time)
-- ;
CREATE INDEX queue_share_updated_at_idx ON queue_share (updated_at)
-- ;
ALTER TABLE sign_in_attempt ALTER COLUMN attempts TYPE BIGINT
-- ;
CREATE TABLE stored_blob (
    digest TEXT NOT NULL,
    size_bytes BIGINT NOT NULL,
    unused_since TIMESTAMP WITH TIME ZONE,
    uploaded_by TEXT,
    CONSTRAINT stored_blob_pkey PRIMARY KEY (digest),
    CONSTRAINT stored_blob_digest_check CHECK (digest ~ '^sha256:[0-9a-f]{64}$')
)
-- ;
CREATE INDEX stored_blob_uploaded_by_idx ON stored_blob (uploaded_by) WHERE uploaded_by IS NOT NULL
-- ;
CREATE INDEX stored_blob_unused_since_idx ON stored_blob (unused_since) WHERE unused_since IS NOT NULL
-- ;
INSERT INTO stored_blob (digest, size_bytes) SELECT digest, size_bytes FROM content
-- ;
CREATE TABLE registry (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT registry_pkey PRIMARY KEY (id)
)
-- ;
INSERT INTO registry DEFAULT VALUES
-- ;
CREATE INDEX submission_upload_digest_idx ON submission (upload_digest) WHERE upload_digest IS NOT NULL
-- ;
ALTER TABLE account
    ADD COLUMN handle TEXT,
    ADD CONSTRAINT account_handle_key UNIQUE (handle),
    ADD CONSTRAINT account_handle_fkey FOREIGN KEY (handle) REFERENCES namespace (name),
    DROP CONSTRAINT account_role_check,
    ADD CONSTRAINT account_role_check CHECK (role IN ('MEMBER', 'REVIEWER', 'SUPER_ADMIN', 'USER'))
-- ;
CREATE INDEX account_login_idx ON account (lower(login))
-- ;
CREATE INDEX account_with_role_idx ON account (id) WHERE role <> 'USER'
-- ;
ALTER TABLE account_session
    ADD COLUMN last_used_at TIMESTAMP WITH TIME ZONE,
    ADD COLUMN user_agent TEXT
-- ;
-- Existing tokens keep all rights of their accounts.
ALTER TABLE account_token
    ADD COLUMN scopes TEXT[] NOT NULL DEFAULT '{read,submit,publish,moderate,admin}',
    ADD COLUMN namespaces TEXT[],
    ADD CONSTRAINT account_token_scopes_check
        CHECK (scopes <@ ARRAY['admin', 'moderate', 'publish', 'read', 'submit'] AND cardinality(scopes) > 0)
-- ;
ALTER TABLE account_token ALTER COLUMN scopes DROP DEFAULT
-- ;
ALTER TABLE repository ADD COLUMN owner_id BIGINT
-- ;
ALTER TABLE submission ADD COLUMN is_name_chosen BOOLEAN NOT NULL DEFAULT false
-- ;
ALTER TABLE skill
    ADD COLUMN claimed_author TEXT,
    ADD COLUMN is_name_chosen BOOLEAN NOT NULL DEFAULT false,
    -- The same time for all existing listings, which are then ordered by id.
    ADD COLUMN named_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    DROP CONSTRAINT skill_standing_check,
    ADD CONSTRAINT skill_standing_check
        CHECK (standing IN ('blocked', 'deleted', 'gone', 'live', 'unlisted', 'withdrawn'))
-- ;
CREATE FUNCTION date_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.named_at := now();
    RETURN NEW;
END
$$
-- ;
CREATE TRIGGER date_name BEFORE UPDATE OF name ON skill FOR EACH ROW WHEN (split_part(OLD.name, '/', 3) <> split_part(NEW.name, '/', 3)) EXECUTE FUNCTION date_name()
-- ;
DROP INDEX install_event_day_idx
-- ;
CREATE INDEX install_event_client_idx ON install_event (day, client)
-- ;
CREATE INDEX security_report_listed_idx ON security_report ((reporter IS NULL), id)
-- ;
CREATE INDEX security_report_open_listed_idx ON security_report ((reporter IS NULL), id) WHERE outcome IS NULL
-- ;
CREATE FUNCTION add_namespaces() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO namespace (name, kind)
    SELECT DISTINCT lower(owner), host FROM added WHERE host IN ('github', 'git') ORDER BY 1
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$
-- ;
CREATE TRIGGER add_namespaces AFTER INSERT ON repository REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_namespaces()
-- ;
INSERT INTO namespace (name, kind) VALUES ('local', 'operator')
-- ;
INSERT INTO namespace (name, kind)
SELECT DISTINCT ON (lower(owner)) lower(owner), host FROM repository WHERE host IN ('github', 'git')
ORDER BY lower(owner), host
ON CONFLICT DO NOTHING
-- ;
-- Stored responses lack the owner and the visibility of repositories.
DELETE FROM github_answer
