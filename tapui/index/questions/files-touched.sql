-- Which files were changed, how often, and when last.
-- :since = 7d    only since then
-- :session =     only this session, by the beginning of its id
-- :limit = 100   so many, the newest first
WITH touched AS (
  SELECT path, count(*) AS changes, sum(added) AS added, sum(removed) AS removed,
    count(DISTINCT session_no) AS sessions, max(id) AS id
  FROM files
  WHERE id >= :since AND (:session = '' OR session_no IN (
    SELECT session_no FROM sessions WHERE substr(session, 1, length(:session)) = :session))
  GROUP BY path
  ORDER BY max(id) DESC
  LIMIT :limit
)
SELECT t.path, t.changes, t.added, t.removed, t.sessions, f.ts AS newest, f.ref
FROM touched t JOIN files f ON f.path = t.path AND f.id = t.id
GROUP BY t.path
ORDER BY t.id DESC
