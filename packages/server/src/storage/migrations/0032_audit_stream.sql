-- Positions of the streams of audit entries to a SIEM. Older programs send no stream.
-- compatible with: 30

create table audit_stream (
  project_id text not null, -- empty: the log of the server
  sink text not null, -- http | file
  position bigint not null, -- of the first entry that is not sent
  fence bigint not null,
  claimed_until bigint,
  failures bigint not null,
  retry_at bigint,
  primary key (project_id, sink)
);
