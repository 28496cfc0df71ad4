-- Comments of reviewers on requests. Older programs show none, and cannot purge requests that
-- request_comment references. Therefore this migration is breaking.

create table request_comment (
  project_id text not null,
  request_id text not null,
  id text not null,
  reviewer_id text not null,
  body text not null, -- JSON text
  written_at bigint not null,
  primary key (project_id, request_id, id),
  foreign key (project_id, request_id) references request (project_id, id)
);
