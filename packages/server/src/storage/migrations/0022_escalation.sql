-- When the next step of the escalation of a pending request is due, in epoch ms; null is none. Older
-- programs store no step and apply none; the newer ones apply those of requests that they stored. On
-- PostgreSQL, the index is built from one scan of all requests while nothing can be written. It is
-- empty afterwards.
-- compatible with: 21

alter table request add column escalates_at bigint;

create index request_escalates on request (escalates_at)
  where status = 'pending' and escalates_at is not null;
