-- Which tools failed or timed out, how often, and why.
-- :since = 30d   only calls since then
-- :session =     only this session, by the beginning of its id
WITH failed AS (
  SELECT tool_no, outcome, error_code, exit_code, count(*) AS failed, max(id) AS id
  FROM calls
  WHERE outcome IN ('failed', 'timedOut') AND id >= :since
    AND (:session = '' OR session_no IN (
      SELECT session_no FROM sessions WHERE substr(session, 1, length(:session)) = :session))
  GROUP BY tool_no, outcome, error_code, exit_code
)
SELECT c.tool, f.outcome, f.error_code, f.exit_code, f.failed, c.ts AS newest, c.ref
FROM failed f JOIN calls c ON c.id = f.id
ORDER BY f.failed DESC, f.id DESC
