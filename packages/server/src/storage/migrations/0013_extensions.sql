-- What an operator may admit beyond the contract: the server that a call names, and the use of an
-- approval. A program of the schema before would find requests that name a server damaged, and
-- would erase requests that consumptions refer to: this one is breaking.

alter table request add column server text; -- JSON text

-- An approval that was consumed, once, and what the agent says became of the call. Erased with the
-- request.
create table consumption (
  project_id text not null,
  request_id text not null,
  key_hash text not null, -- of the Idempotency-Key, with the instance
  consumed_at bigint not null,
  outcome text, -- succeeded | failed
  outcome_note text, -- JSON text
  reported_at bigint,
  primary key (project_id, request_id),
  foreign key (project_id, request_id) references request (project_id, id)
);
