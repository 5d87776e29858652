-- The calls that took longest.
-- :since = 30d   only calls since then
-- :session =     only this session, by the beginning of its id
-- :limit = 20    so many
WITH slowest AS (
  SELECT id FROM calls
  WHERE id >= :since AND duration IS NOT NULL AND (:session = '' OR session_no IN (
    SELECT session_no FROM sessions WHERE substr(session, 1, length(:session)) = :session))
  ORDER BY duration DESC
  LIMIT :limit
)
SELECT ts, tool, duration, queued, gated, summary, session, turn, ref
FROM calls
WHERE id IN (SELECT id FROM slowest)
ORDER BY duration DESC
