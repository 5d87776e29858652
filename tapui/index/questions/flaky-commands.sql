-- Commands that both failed and passed in a session with no file changed between.
-- :since = 30d   only since then
WITH runs_of AS (
  SELECT session_no, summary_no, is_failed, id,
    lag(is_failed) OVER one AS before, lag(id) OVER one AS before_id
  FROM calls
  WHERE id >= :since AND exit_code IS NOT NULL AND summary_no IS NOT NULL
  WINDOW one AS (PARTITION BY session_no, summary_no ORDER BY id)
), flaky AS (
  SELECT session_no, summary_no, count(*) AS changes, max(id) AS id
  FROM runs_of r
  WHERE before <> is_failed
    AND NOT EXISTS (SELECT 1 FROM files f
      WHERE f.session_no = r.session_no AND f.id > r.before_id AND f.id < r.id)
  GROUP BY session_no, summary_no
)
SELECT c.summary, c.session, f.changes, c.ref
FROM flaky f JOIN calls c ON c.id = f.id
ORDER BY f.changes DESC, f.id DESC
