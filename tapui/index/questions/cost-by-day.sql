-- What was used on each day (UTC), of the answers that tapui saw.
-- :since = 30d   only since then
WITH by_day AS (
  SELECT day_no, model_no, max(id) AS id, sum(input) AS input, sum(output) AS output,
    sum(cost) AS cost, sum(requests) AS requests, sum(calls) AS calls
  FROM usage
  WHERE id >= :since AND kind <> 'first total'
  GROUP BY day_no, model_no
)
SELECT date(d.day_no * 86400, 'unixepoch') AS day, u.model, d.input, d.output, d.cost,
  d.requests, d.calls, u.ref
FROM by_day d JOIN usage u ON u.day_no = d.day_no AND u.model_no = d.model_no AND u.id = d.id
GROUP BY d.day_no, d.model_no
ORDER BY d.day_no DESC, d.input DESC
