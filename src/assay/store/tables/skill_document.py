"""The search document of a listing: its words, and marks for filters.

A word is a run of letters; in scripts without spaces every character is a word. A mark begins with a sign that no
word begins with, so that no query can match one.
"""

from assay.store.tables.base import run_before

# Kana and Han characters.
UNSEGMENTED = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"

run_before(
    rf"""
CREATE FUNCTION search_words(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(translate(given, '/-_.', '    '), '({UNSEGMENTED})', ' \1 ', 'g')
$$
"""
)
run_before(
    r"""
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
"""
)
DOCUMENT = "search_document(name, display_name, description, author, skill_path, category, tier, trust_tier, labels)"
