-- What was denied: by the person, a rule, a gate, or as no person could be asked.
-- :since = 30d   only since then
-- :limit = 100   so many, the newest first
SELECT ts, kind, decided_by, rule, tool, summary, reason, session, turn, ref
FROM approvals
WHERE id >= :since AND state = 'denied'
ORDER BY id DESC
LIMIT :limit
