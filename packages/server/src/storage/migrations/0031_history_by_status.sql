-- The history of denied, expired and cancelled requests, without a scan of the approved ones. Approved
-- requests, which are most of them, have no row in this index. On PostgreSQL, it is built from one
-- scan of all requests while nothing can be written.
-- compatible with: 30

create index request_refused on request (project_id, decided_at, id)
  where status in ('denied', 'expired', 'cancelled');
