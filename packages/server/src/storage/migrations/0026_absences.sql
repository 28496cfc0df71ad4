-- Absences of reviewers. Older programs show none and notify absent reviewers. No data is lost, but
-- users would not get what their colleagues see. Therefore this migration is breaking.

create table absence (
  project_id text not null,
  reviewer_id text not null,
  from_at bigint not null,
  until_at bigint not null,
  substitute_id text, -- a reviewer; null: none
  primary key (project_id, reviewer_id)
);

create index absence_until on absence (project_id, until_at);
