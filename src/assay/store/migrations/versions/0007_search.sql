CREATE FUNCTION search_words(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(translate(given, '/-_.', '    '), '([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])', ' \1 ', 'g')
$$
-- ;
CREATE FUNCTION search_document(
    name text, display_name text, description text, author text, skill_path text, category text, tier text,
    trust_tier text, labels text[]
) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT setweight(to_tsvector('simple', search_words(name)), 'A')
        || setweight(to_tsvector('simple', search_words(display_name)), 'A')
        || setweight(to_tsvector('english', search_words(description)), 'B')
        || setweight(to_tsvector('simple', search_words(array_to_string(labels, ' '))), 'B')
        || setweight(to_tsvector('simple', search_words(author) || ' ' || category), 'C')
        || setweight(to_tsvector('simple', search_words(regexp_replace(skill_path, '/?SKILL\.md$', '', 'i'))), 'D')
        || array_to_tsvector(
            ARRAY[
                '=category:' || category, '=tier:' || tier, '=trust:' || trust_tier,
                '=author:' || lower(left(author, 200)), '=owner:' || split_part(name, '/', 1),
                '=repo:' || split_part(name, '/', 1) || '/' || split_part(name, '/', 2)
            ] || ARRAY(SELECT '=label:' || lower(left(label, 100)) FROM unnest(labels) AS label)
        )
$$
-- ;
ALTER TABLE skill DROP COLUMN search_document
-- ;
ALTER TABLE skill ADD COLUMN search_document TSVECTOR GENERATED ALWAYS AS (search_document(name, display_name, description, author, skill_path, category, tier, trust_tier, labels)) STORED
-- ;
DROP INDEX skill_slug_idx
-- ;
CREATE INDEX skill_down_slug_idx ON skill (split_part(name, '/'::text, 3)) WHERE standing <> 'live'
-- ;
CREATE INDEX skill_installs_idx ON skill (installs DESC, id DESC) WHERE standing = 'live'
-- ;
CREATE INDEX skill_name_trigram_idx ON skill USING gin (name gin_trgm_ops) WHERE standing = 'live'
-- ;
CREATE INDEX skill_search_document_idx ON skill USING gin (search_document)
-- ;
CREATE INDEX skill_slug_idx ON skill (split_part(name, '/'::text, 3) text_pattern_ops) WHERE standing = 'live'
-- ;
CREATE INDEX skill_stars_idx ON skill (coalesce(stars, -1) DESC, id DESC) WHERE standing = 'live'
-- ;
CREATE INDEX skill_trending_idx ON skill (trending_7d DESC, id DESC) WHERE standing = 'live'
-- ;
CREATE TABLE search_probe (
    id SMALLINT DEFAULT '1' NOT NULL,
    probed BIGINT DEFAULT '0' NOT NULL,
    missed BIGINT DEFAULT '0' NOT NULL,
    probed_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT search_probe_pkey PRIMARY KEY (id),
    CONSTRAINT search_probe_only_check CHECK (id = 1)
)
-- ;
CREATE TABLE search_miss (
    skill_id UUID NOT NULL,
    query TEXT NOT NULL,
    missed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT search_miss_pkey PRIMARY KEY (skill_id),
    CONSTRAINT search_miss_skill_id_fkey FOREIGN KEY(skill_id) REFERENCES skill (id) ON DELETE CASCADE
)
-- ;
INSERT INTO search_probe DEFAULT VALUES
