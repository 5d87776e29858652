-- Turns that changed files and are not proven by a check.
-- :since = 7d    only since then
-- :limit = 100   so many, the newest first
SELECT ts, session, turn, files, proof, proof_reason, prompt, ref
FROM turns
WHERE id >= :since AND files > 0 AND proof <> 'checked' AND checked_in IS NULL
ORDER BY id DESC
LIMIT :limit
