-- Handles: the logins of accounts, as far as they have the form of a handle. Of several accounts that had a login one
-- after the other, the newest one has it.
CREATE TEMPORARY TABLE new_handle ON COMMIT DROP AS
SELECT DISTINCT ON (lower(login)) id AS account_id, github_id, lower(login) AS handle
FROM account
WHERE lower(login) ~ '^[a-z0-9]([a-z0-9-]{0,37}[a-z0-9])?$' AND lower(login) <> 'local'
ORDER BY lower(login), github_id IS NULL, created_at DESC
-- ;
INSERT INTO namespace (name, kind, github_id, account_id)
SELECT handle, CASE WHEN github_id IS NULL THEN 'account' ELSE 'github' END, github_id,
    CASE WHEN github_id IS NULL THEN account_id END
FROM new_handle
ON CONFLICT (name) DO UPDATE SET github_id = excluded.github_id
WHERE namespace.kind = 'github' AND excluded.kind = 'github'
-- ;
UPDATE account SET handle = new_handle.handle
FROM new_handle JOIN namespace ON namespace.name = new_handle.handle
WHERE account.id = new_handle.account_id
    AND (namespace.account_id = account.id OR namespace.github_id = account.github_id)
-- ;
-- The author is the owner; what the front matter says is a claim.
UPDATE skill SET
    claimed_author = CASE WHEN lower(skill.author) <> lower(repository.owner) THEN skill.author END,
    author = repository.owner
FROM repository WHERE repository.id = skill.repository_id AND skill.author <> repository.owner
-- ;
UPDATE skill_version SET described = described || jsonb_build_object(
    'author', repository.owner,
    'claimed_author', CASE WHEN lower(described ->> 'author') <> lower(repository.owner) THEN described ->> 'author' END
)
FROM skill JOIN repository ON repository.id = skill.repository_id
WHERE skill.id = skill_version.skill_id AND described ? 'author'
-- ;
-- The uploader of each version: the actor of the last request before it was first published. Actors are recorded by
-- login, so an actor whose login several accounts have had is unknown unless it is the submitter.
CREATE TEMPORARY TABLE uploaded ON COMMIT DROP AS
SELECT version.id AS version_id, version.skill_id, version.ordinal, person.id AS account_id
FROM skill_version AS version
JOIN skill ON skill.id = version.skill_id
JOIN repository ON repository.id = skill.repository_id AND repository.host = 'upload'
LEFT JOIN LATERAL (
    SELECT request.actor, submission.submitter
    FROM submission
    JOIN submission_event AS published ON published.submission_id = submission.id
        AND published.to_state = 'PUBLISHED' AND published.metadata ->> 'version' = version.version
    JOIN LATERAL (
        SELECT actor FROM submission_event AS event
        WHERE event.submission_id = submission.id AND event.to_state = 'RECEIVED'
            AND event.trigger IN ('submitted', 'submitted again') AND event.id < published.id
        ORDER BY event.id DESC LIMIT 1
    ) AS request ON true
    WHERE submission.skill_id = skill.id
    ORDER BY published.id LIMIT 1
) AS sent ON true
LEFT JOIN LATERAL (
    SELECT account.id FROM account
    WHERE account.login = sent.actor AND (
        account.id::text = sent.submitter OR (SELECT count(*) FROM account AS other WHERE other.login = sent.actor) = 1
    )
    ORDER BY (account.id::text = sent.submitter) DESC LIMIT 1
) AS person ON true
-- ;
-- The first account that uploaded a version owns the listing. Listings without one stay with the operator.
CREATE TEMPORARY TABLE new_owner ON COMMIT DROP AS
SELECT DISTINCT ON (uploaded.skill_id) uploaded.skill_id, uploaded.ordinal, account.id AS account_id, account.login,
    account.handle, skill.name AS former_name, account.handle || '/uploads/' || split_part(skill.name, '/', 3) AS name
FROM uploaded
JOIN account ON account.id = uploaded.account_id AND account.handle IS NOT NULL
JOIN skill ON skill.id = uploaded.skill_id
ORDER BY uploaded.skill_id, uploaded.ordinal
-- ;
CREATE TEMPORARY TABLE foreign_version ON COMMIT DROP AS
SELECT version.id, version.skill_id, version.version, version.content_digest, new_owner.name
FROM new_owner
JOIN uploaded ON uploaded.skill_id = new_owner.skill_id AND uploaded.ordinal > new_owner.ordinal
    AND uploaded.account_id IS DISTINCT FROM new_owner.account_id
JOIN skill_version AS version ON version.id = uploaded.version_id AND version.status = 'live'
-- ;
UPDATE skill_version SET
    status = 'yanked', status_code = 'foreign_upload',
    status_message = 'Someone other than the owner of this listing uploaded this version.',
    status_at = now(), status_by = 'migration'
WHERE id IN (SELECT id FROM foreign_version)
-- ;
INSERT INTO repository (host, owner, name)
SELECT DISTINCT 'upload', handle, 'uploads' FROM new_owner ORDER BY 2
ON CONFLICT DO NOTHING
-- ;
INSERT INTO skill_alias (alias, skill_id) SELECT former_name, skill_id FROM new_owner
ON CONFLICT DO NOTHING
-- ;
UPDATE skill SET
    name = new_owner.name, repository_id = repository.id, author = new_owner.login, updated_at = now(),
    claimed_author = CASE WHEN lower(skill.claimed_author) <> lower(new_owner.login) THEN skill.claimed_author END
FROM new_owner JOIN repository ON repository.host = 'upload' AND repository.owner = new_owner.handle
WHERE skill.id = new_owner.skill_id
-- ;
UPDATE skill_version SET described = described || jsonb_build_object('author', new_owner.login)
FROM new_owner WHERE skill_version.skill_id = new_owner.skill_id
-- ;
INSERT INTO change (kind, skill_id, data)
SELECT 'rename', skill_id, jsonb_build_object('name', name, 'from', former_name) FROM new_owner ORDER BY skill_id
-- ;
INSERT INTO change (kind, skill_id, data)
SELECT 'yank', skill_id, jsonb_build_object(
    'name', name, 'version', version, 'digest', content_digest, 'reason', jsonb_build_object(
        'code', 'foreign_upload', 'message', 'Someone other than the owner of this listing uploaded this version.'
    )
)
FROM foreign_version ORDER BY skill_id, version
-- ;
INSERT INTO audit_event (actor, action, subject, detail)
SELECT 'migration', 'version_yanked', name, jsonb_build_object('version', version, 'reason', 'foreign_upload')
FROM foreign_version ORDER BY skill_id, version
-- ;
-- Listings whose live version was yanked fall back to the newest version that is left.
UPDATE skill SET
    current_version_id = best.id, display_name = said.display_name, description = said.description,
    license = said.license, tier = said.tier, method = said.method, score = said.score,
    trust_score = said.trust_score, trust_tier = said.trust_tier, certified_at = said.certified_at,
    category = said.category, labels = said.labels, claimed_author = said.claimed_author
FROM new_owner
CROSS JOIN LATERAL (
    SELECT id, described FROM skill_version
    WHERE skill_id = new_owner.skill_id AND status = 'live' ORDER BY ordinal DESC LIMIT 1
) AS best
CROSS JOIN LATERAL (
    SELECT described.* FROM skill AS before, jsonb_populate_record(NULL::skill, to_jsonb(before) || best.described)
        AS described
    WHERE before.id = new_owner.skill_id
) AS said
WHERE skill.id = new_owner.skill_id AND skill.current_version_id IN (SELECT id FROM foreign_version)
-- ;
WITH hidden AS (
    UPDATE skill SET
        standing = 'withdrawn', standing_code = 'foreign_upload',
        standing_message = 'No version of the owner of this listing is left.', standing_at = now(),
        standing_by = 'migration'
    WHERE standing = 'live' AND current_version_id IN (SELECT id FROM foreign_version)
    RETURNING id, name
)
INSERT INTO change (kind, skill_id, data)
SELECT 'tombstone', id, jsonb_build_object(
    'name', name, 'standing', 'withdrawn', 'reason', jsonb_build_object(
        'code', 'foreign_upload', 'message', 'No version of the owner of this listing is left.'
    )
)
FROM hidden ORDER BY id
-- ;
-- Uploads that wait to become versions of a listing whose owner did not send them are refused.
CREATE TEMPORARY TABLE foreign_upload ON COMMIT DROP AS
SELECT submission.id, submission.state, submission.cycle
FROM new_owner
JOIN submission ON submission.skill_id = new_owner.skill_id
    AND submission.state IN ('RECEIVED', 'TIER1_SCANNING', 'TIER2_SCANNING', 'NEEDS_REVIEW')
JOIN LATERAL (
    SELECT actor FROM submission_event AS event
    WHERE event.submission_id = submission.id AND event.to_state = 'RECEIVED'
        AND event.trigger IN ('submitted', 'submitted again')
    ORDER BY event.id DESC LIMIT 1
) AS request ON request.actor <> new_owner.login
-- ;
UPDATE submission SET
    state = 'REJECTED', version = version + 1, updated_at = now(), decided_at = now(), lease_owner = NULL,
    lease_expires_at = NULL, reason_code = 'not_owner',
    reason_message = 'The listing belongs to the account that uploaded its first version.',
    next_step = 'Upload the skill to your own namespace.'
WHERE id IN (SELECT id FROM foreign_upload)
-- ;
INSERT INTO submission_event (submission_id, from_state, to_state, trigger, actor, metadata)
SELECT id, state, 'REJECTED', 'refused', 'migration', '{"reason": "not_owner"}' FROM foreign_upload
-- ;
INSERT INTO change (kind, submission_id, data)
SELECT 'submission', id, jsonb_build_object(
    'from', state, 'to', 'REJECTED', 'trigger', 'refused', 'reason', 'not_owner'
)
FROM foreign_upload
-- ;
DELETE FROM pgqueuer WHERE dedupe_key IN (SELECT id || ':' || cycle FROM foreign_upload)
-- ;
UPDATE submission SET repository_id = repository.id
FROM new_owner JOIN repository ON repository.host = 'upload' AND repository.owner = new_owner.handle
WHERE submission.skill_id = new_owner.skill_id
-- ;
-- Uploads of accounts that were not published yet go to their own namespaces, too.
INSERT INTO repository (host, owner, name)
SELECT DISTINCT 'upload', account.handle, 'uploads'
FROM submission
JOIN repository AS former ON former.id = submission.repository_id AND former.host = 'upload' AND former.owner = 'local'
JOIN account ON account.id::text = submission.submitter AND account.handle IS NOT NULL
WHERE submission.skill_id IS NULL
ORDER BY 2
ON CONFLICT DO NOTHING
-- ;
UPDATE submission SET repository_id = own.id
FROM repository AS former, account, repository AS own
WHERE submission.skill_id IS NULL AND former.id = submission.repository_id AND former.host = 'upload'
    AND former.owner = 'local' AND account.id::text = submission.submitter
    AND own.host = 'upload' AND own.owner = account.handle AND NOT EXISTS (
        SELECT FROM submission AS other WHERE other.repository_id = own.id
            AND other.skill_name = submission.skill_name AND other.skill_path = submission.skill_path
    )
