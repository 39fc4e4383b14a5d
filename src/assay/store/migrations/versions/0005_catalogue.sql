ALTER TABLE skill
    ADD COLUMN category TEXT DEFAULT 'other' NOT NULL,
    ADD COLUMN installs BIGINT DEFAULT '0' NOT NULL,
    ADD COLUMN trending_7d INTEGER DEFAULT '0' NOT NULL,
    ADD COLUMN trending_30d INTEGER DEFAULT '0' NOT NULL,
    ADD COLUMN stars INTEGER,
    ADD COLUMN standing TEXT DEFAULT 'live' NOT NULL,
    ADD COLUMN standing_code TEXT,
    ADD COLUMN standing_message TEXT,
    ADD COLUMN standing_at TIMESTAMP WITH TIME ZONE,
    ADD COLUMN standing_by TEXT
-- ;
ALTER TABLE skill ADD CONSTRAINT skill_category_check CHECK (category IN ('ai', 'business', 'data', 'design', 'development', 'devops', 'documents', 'other', 'productivity', 'research', 'security', 'testing', 'writing'))
-- ;
ALTER TABLE skill ADD CONSTRAINT skill_standing_check CHECK (standing IN ('blocked', 'gone', 'live', 'unlisted', 'withdrawn'))
-- ;
ALTER TABLE skill ADD CONSTRAINT skill_not_live_has_reason_check CHECK ((standing = 'live') = (standing_code IS NULL))
-- ;
ALTER TABLE skill ADD CONSTRAINT skill_standing_is_whole_check CHECK (num_nulls(standing_code, standing_message, standing_at, standing_by) IN (0, 4))
-- ;
ALTER TABLE skill_version
    ADD COLUMN status TEXT DEFAULT 'live' NOT NULL,
    ADD COLUMN status_code TEXT,
    ADD COLUMN status_message TEXT,
    ADD COLUMN status_at TIMESTAMP WITH TIME ZONE,
    ADD COLUMN status_by TEXT,
    ADD COLUMN deprecation_code TEXT,
    ADD COLUMN deprecation_message TEXT,
    ADD COLUMN deprecation_at TIMESTAMP WITH TIME ZONE,
    ADD COLUMN deprecation_by TEXT,
    ADD COLUMN described JSONB DEFAULT '{}'::jsonb NOT NULL
-- ;
ALTER TABLE skill_version ADD CONSTRAINT skill_version_status_check CHECK (status IN ('live', 'withdrawn', 'yanked'))
-- ;
ALTER TABLE skill_version ADD CONSTRAINT skill_version_not_live_has_reason_check CHECK ((status = 'live') = (status_code IS NULL))
-- ;
ALTER TABLE skill_version ADD CONSTRAINT skill_version_status_is_whole_check CHECK (num_nulls(status_code, status_message, status_at, status_by) IN (0, 4))
-- ;
ALTER TABLE skill_version ADD CONSTRAINT skill_version_deprecation_is_whole_check CHECK (num_nulls(deprecation_code, deprecation_message, deprecation_at, deprecation_by) IN (0, 4))
-- ;
DROP INDEX skill_updated_at_idx
-- ;
CREATE INDEX skill_updated_at_idx ON skill (updated_at DESC, id DESC) WHERE standing = 'live'
-- ;
CREATE INDEX skill_slug_idx ON skill (split_part(name, '/'::text, 3)) WHERE standing = 'live'
-- ;
CREATE INDEX skill_version_content_digest_idx ON skill_version (content_digest)
-- ;
CREATE INDEX change_skill_id_idx ON change (skill_id, serial) WHERE skill_id IS NOT NULL
-- ;
CREATE INDEX submission_skill_id_idx ON submission (skill_id) WHERE skill_id IS NOT NULL
-- ;
CREATE INDEX change_blocklist_idx ON change (serial) WHERE kind IN ('block', 'unblock')
-- ;
CREATE INDEX skill_created_at_idx ON skill (created_at DESC, id DESC) WHERE standing = 'live'
-- ;
CREATE TABLE upstream_check (
    repository_id BIGINT NOT NULL,
    due_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    described_at TIMESTAMP WITH TIME ZONE,
    commit TEXT,
    missing_since TIMESTAMP WITH TIME ZONE,
    failures INTEGER DEFAULT '0' NOT NULL,
    problem TEXT,
    CONSTRAINT upstream_check_pkey PRIMARY KEY (repository_id),
    CONSTRAINT upstream_check_repository_id_fkey FOREIGN KEY(repository_id) REFERENCES repository (id)
)
-- ;
CREATE INDEX upstream_check_due_at_idx ON upstream_check (due_at)
-- ;
CREATE INDEX upstream_check_failing_idx ON upstream_check (repository_id) WHERE failures > 0
-- ;
CREATE INDEX upstream_check_seen_at_idx ON upstream_check (seen_at)
-- ;
CREATE TABLE skill_alias (
    alias TEXT NOT NULL,
    skill_id UUID NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT skill_alias_pkey PRIMARY KEY (alias, skill_id),
    CONSTRAINT skill_alias_lower_case_check CHECK (alias = lower(alias) AND alias <> ''),
    CONSTRAINT skill_alias_skill_id_fkey FOREIGN KEY(skill_id) REFERENCES skill (id)
)
-- ;
CREATE INDEX skill_alias_skill_id_idx ON skill_alias (skill_id)
-- ;
CREATE TABLE dist_tag (
    skill_id UUID NOT NULL,
    tag TEXT NOT NULL,
    version_id UUID NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT dist_tag_pkey PRIMARY KEY (skill_id, tag),
    CONSTRAINT dist_tag_tag_check CHECK (tag ~ '^[a-z][a-z0-9._-]{0,39}$' AND tag <> 'latest'),
    CONSTRAINT dist_tag_skill_id_fkey FOREIGN KEY(skill_id) REFERENCES skill (id),
    CONSTRAINT dist_tag_version_id_fkey FOREIGN KEY(version_id) REFERENCES skill_version (id)
)
-- ;
CREATE TABLE install_event (
    skill_id UUID NOT NULL,
    day DATE NOT NULL,
    client TEXT NOT NULL,
    version TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT install_event_pkey PRIMARY KEY (skill_id, day, client),
    CONSTRAINT install_event_client_check CHECK (client ~ '^sha256:[0-9a-f]{64}$'),
    CONSTRAINT install_event_skill_id_fkey FOREIGN KEY(skill_id) REFERENCES skill (id)
)
-- ;
CREATE INDEX install_event_day_idx ON install_event (day)
-- ;
CREATE TABLE blocklist_entry (
    id UUID NOT NULL,
    content_digest TEXT,
    repository TEXT,
    skill_name TEXT,
    everywhere BOOLEAN DEFAULT false NOT NULL,
    threat TEXT NOT NULL,
    severity TEXT NOT NULL,
    reason TEXT NOT NULL,
    evidence_urls TEXT[] DEFAULT '{}'::text[] NOT NULL,
    discovered_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    added_by TEXT NOT NULL,
    lifted_at TIMESTAMP WITH TIME ZONE,
    lifted_by TEXT,
    lifted_reason TEXT,
    CONSTRAINT blocklist_entry_pkey PRIMARY KEY (id),
    CONSTRAINT blocklist_entry_content_digest_check CHECK (content_digest ~ '^sha256:[0-9a-f]{64}$'),
    CONSTRAINT blocklist_entry_threat_check CHECK (threat IN ('credential-theft', 'data-exfiltration', 'destructive', 'impersonation', 'malware', 'other', 'prompt-injection', 'social-engineering', 'supply-chain')),
    CONSTRAINT blocklist_entry_severity_check CHECK (severity IN ('critical', 'high', 'info', 'low', 'medium')),
    CONSTRAINT blocklist_entry_said_check CHECK (reason <> '' AND added_by <> ''),
    CONSTRAINT blocklist_entry_lifted_check CHECK (num_nulls(lifted_at, lifted_by, lifted_reason) IN (0, 3)),
    CONSTRAINT blocklist_entry_lower_case_check CHECK (repository = lower(repository) AND skill_name = lower(skill_name)),
    CONSTRAINT blocklist_entry_target_check CHECK (CASE WHEN everywhere THEN skill_name IS NOT NULL AND num_nonnulls(content_digest, repository) = 0 WHEN content_digest IS NOT NULL THEN num_nonnulls(repository, skill_name) = 0 ELSE repository IS NOT NULL END)
)
-- ;
CREATE INDEX blocklist_entry_content_digest_idx ON blocklist_entry (content_digest) WHERE lifted_at IS NULL AND content_digest IS NOT NULL
-- ;
CREATE INDEX blocklist_entry_repository_idx ON blocklist_entry (repository) WHERE lifted_at IS NULL AND repository IS NOT NULL
-- ;
CREATE INDEX blocklist_entry_skill_name_idx ON blocklist_entry (skill_name) WHERE lifted_at IS NULL AND skill_name IS NOT NULL
-- ;
CREATE UNIQUE INDEX blocklist_entry_target_key ON blocklist_entry (content_digest, repository, skill_name) NULLS NOT DISTINCT WHERE lifted_at IS NULL
-- ;
ALTER TABLE change DROP CONSTRAINT change_kind_check
-- ;
ALTER TABLE change ADD CONSTRAINT change_kind_check CHECK (kind IN ('block', 'bulk', 'deprecate', 'publish', 'rename', 'restore', 'submission', 'tag', 'tombstone', 'unblock', 'undeprecate', 'unlist', 'unyank', 'update', 'version', 'withdraw', 'yank'))
-- ;
UPDATE skill SET stars = repository.stars FROM repository WHERE repository.id = skill.repository_id
-- ;
DROP TRIGGER count_inserted ON skill
-- ;
DROP TRIGGER count_deleted ON skill
-- ;
DROP FUNCTION count_skills()
-- ;
DROP TABLE skill_count
-- ;
CREATE TABLE skill_count (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    facet TEXT NOT NULL,
    value TEXT NOT NULL,
    number BIGINT NOT NULL,
    CONSTRAINT skill_count_pkey PRIMARY KEY (id),
    CONSTRAINT skill_count_facet_check CHECK (facet IN ('all', 'category', 'tier'))
)
-- ;
CREATE FUNCTION keep_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A version is never changed: % of %.', OLD.version, OLD.skill_id USING ERRCODE = '23514';
END
$$
-- ;
CREATE TRIGGER keep_version BEFORE UPDATE ON skill_version FOR EACH ROW WHEN ((OLD.skill_id, OLD.version, OLD.ordinal, OLD.content_digest, OLD.commit, OLD.scan_id, OLD.published_at) IS DISTINCT FROM (NEW.skill_id, NEW.version, NEW.ordinal, NEW.content_digest, NEW.commit, NEW.scan_id, NEW.published_at)) EXECUTE FUNCTION keep_version()
-- ;
CREATE FUNCTION count_skills() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO skill_count (facet, value, number)
        SELECT facet, value, sum(number)
        FROM (SELECT category, tier, 1 AS number FROM added WHERE standing = 'live') AS changed
        CROSS JOIN LATERAL (VALUES ('all', ''), ('category', category), ('tier', tier)) AS facets (facet, value)
        GROUP BY facet, value HAVING sum(number) <> 0 ORDER BY facet, value;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO skill_count (facet, value, number)
        SELECT facet, value, sum(number)
        FROM (SELECT category, tier, -1 AS number FROM removed WHERE standing = 'live') AS changed
        CROSS JOIN LATERAL (VALUES ('all', ''), ('category', category), ('tier', tier)) AS facets (facet, value)
        GROUP BY facet, value HAVING sum(number) <> 0 ORDER BY facet, value;
    ELSE
        INSERT INTO skill_count (facet, value, number)
        SELECT facet, value, sum(number)
        FROM (SELECT category, tier, 1 AS number FROM added WHERE standing = 'live' UNION ALL SELECT category, tier, -1 AS number FROM removed WHERE standing = 'live') AS changed
        CROSS JOIN LATERAL (VALUES ('all', ''), ('category', category), ('tier', tier)) AS facets (facet, value)
        GROUP BY facet, value HAVING sum(number) <> 0 ORDER BY facet, value;
    END IF;
    RETURN NULL;
END
$$
-- ;
CREATE TRIGGER count_inserted AFTER INSERT ON skill REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_skills()
-- ;
CREATE TRIGGER count_changed AFTER UPDATE ON skill REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_skills()
-- ;
CREATE TRIGGER count_deleted AFTER DELETE ON skill REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_skills()
-- ;
CREATE FUNCTION watch_source() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO upstream_check (repository_id) SELECT DISTINCT repository_id FROM added ORDER BY repository_id
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$
-- ;
CREATE TRIGGER watch_source AFTER INSERT ON skill REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION watch_source()
-- ;
INSERT INTO skill_count (facet, value, number)
SELECT facet, value, count(*) FROM skill
CROSS JOIN LATERAL (VALUES ('all', ''), ('category', category), ('tier', tier)) AS facets (facet, value)
GROUP BY facet, value
-- ;
INSERT INTO upstream_check (repository_id) SELECT DISTINCT repository_id FROM skill
