-- Calls that were made again in the same turn after they had failed.
-- :since = 7d    only since then
-- :limit = 100   so many, those with most tries first
WITH tried AS (
  SELECT count(*) AS tries, sum(is_failed) AS failed, max(id) AS id
  FROM calls
  WHERE id >= :since AND summary_no IS NOT NULL
  GROUP BY session_no, turn, summary_no
  HAVING count(*) > 1 AND sum(is_failed) > 0
  ORDER BY count(*) DESC
  LIMIT :limit
)
SELECT c.tool, c.summary, c.session, c.turn, t.tries, t.failed, c.ref
FROM tried t JOIN calls c ON c.id = t.id
ORDER BY t.tries DESC, t.id DESC
