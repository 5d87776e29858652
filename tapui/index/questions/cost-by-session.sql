-- What each session used: the same sum as `tapui usage` has.
-- :limit = 50    so many, those with most tokens first
WITH by_day AS (
  SELECT day_no, model_no, session_no, sum(input) AS input, sum(output) AS output,
    sum(cost) AS cost, sum(requests) AS requests, sum(calls) AS calls
  FROM usage
  GROUP BY day_no, model_no, session_no
), by_session AS (
  SELECT session_no, sum(input) AS input, sum(output) AS output, sum(cost) AS cost,
    sum(requests) AS requests, sum(calls) AS calls
  FROM by_day
  GROUP BY session_no
)
SELECT s.session, s.label, u.input, u.output, u.cost, u.requests, u.calls, s.ref
FROM by_session u JOIN sessions s ON s.session_no = u.session_no
ORDER BY u.input + u.output DESC
LIMIT :limit
