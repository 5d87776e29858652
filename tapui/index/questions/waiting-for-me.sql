-- What waits for the person now.
SELECT a.ts, a.kind, a.summary, a.provider, s.label, a.session, a.expires, a.ref
FROM approvals a LEFT JOIN sessions s ON s.session = a.session
WHERE a.state IN ('waiting', 'revealed', 'deciding') AND a.expires > :now
  AND coalesce(s.state, '') <> 'ended'
ORDER BY a.id
