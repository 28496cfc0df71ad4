-- Verdicts that are held before they are given, wrong confirmations, and an index of what the audit
-- log has of one request besides its opening and its end: only rows of these kinds are in it, so
-- creating and deciding a request cost what they did. On PostgreSQL it is built while nothing can be
-- written, from one look at every audit entry. Older programs neither give what is held nor count
-- what is wrong; what is held is given by the newer ones.
-- compatible with: 10

create table held_verdict (
  project_id text not null,
  request_id text not null,
  reviewer_id text not null,
  verdict text not null, -- approve | deny
  arguments_sha256 text not null, -- of what the reviewer was shown
  note text, -- JSON text
  validity_ms bigint,
  confirmation text, -- JSON text
  credential_id text not null, -- of the token or session that it came with
  is_session bigint not null, -- 0 | 1
  held_at bigint not null,
  commits_at bigint not null,
  primary key (project_id, request_id, reviewer_id)
);

create index held_verdict_due on held_verdict (commits_at);

-- Confirmations by a reviewer that were not what they had to be. Erased with the request.
create table confirmation_miss (
  project_id text not null,
  request_id text not null,
  reviewer_id text not null,
  misses bigint not null,
  missed_at bigint not null, -- the last one
  primary key (project_id, request_id, reviewer_id)
);

create index audit_entry_of_request on audit_entry (project_id, subject, id)
  where kind in ('vote.cast', 'vote.withdrawn', 'verdict.held', 'verdict.taken_back',
    'verdict.cast', 'verdict.lapsed', 'confirmation.missed', 'delivery.hurried');
