-- What rules allowed in the person's place.
-- :since = 7d    only since then
-- :limit = 100   so many, the newest first
SELECT ts, rule, kind, tool, summary, session, turn, ref
FROM approvals
WHERE id >= :since AND state = 'approved' AND effect = 'allow'
ORDER BY id DESC
LIMIT :limit
