-- What ran in a session after a record.
-- :ref =         the record, as the column ref has it
-- :limit = 100   so many, the oldest first
WITH record AS (
  SELECT session_no FROM calls WHERE seq = :ref_seq AND run = :ref_run
  UNION ALL SELECT session_no FROM turns WHERE seq = :ref_seq AND run = :ref_run
  UNION ALL SELECT session_no FROM sessions WHERE seq = :ref_seq AND run = :ref_run
  UNION ALL SELECT session_no FROM approvals WHERE seq = :ref_seq AND run = :ref_run
  UNION ALL SELECT session_no FROM errors WHERE seq = :ref_seq AND run = :ref_run
  UNION ALL SELECT session_no FROM usage WHERE seq = :ref_seq AND run = :ref_run
  UNION ALL SELECT session_no FROM goals WHERE seq = :ref_seq AND run = :ref_run
  UNION ALL SELECT session_no FROM checks WHERE seq = :ref_seq AND run = :ref_run
  UNION ALL SELECT session_no FROM claims WHERE seq = :ref_seq AND run = :ref_run
  UNION ALL SELECT session_no FROM reviews WHERE seq = :ref_seq AND run = :ref_run
  UNION ALL SELECT session_no FROM lines WHERE seq = :ref_seq AND run = :ref_run
  UNION ALL SELECT session_no FROM spans WHERE seq = :ref_seq AND run = :ref_run
  LIMIT 1
)
SELECT ts, tool, state, exit_code, summary, session, turn, ref
FROM calls
WHERE run = :ref_run AND seq > :ref_seq
  AND session_no IS coalesce((SELECT session_no FROM record), session_no)
ORDER BY id
LIMIT :limit
