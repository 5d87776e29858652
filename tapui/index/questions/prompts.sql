-- What was asked, and what came of it.
-- :since = 7d    only since then
-- :session =     only this session, by the beginning of its id
-- :limit = 100   so many, the newest first
SELECT ts, session, turn, source, prompt, state, steps, failed, files, proof, ref
FROM turns
WHERE id >= :since AND (:session = '' OR session_no IN (
    SELECT session_no FROM sessions WHERE substr(session, 1, length(:session)) = :session))
ORDER BY id DESC
LIMIT :limit
