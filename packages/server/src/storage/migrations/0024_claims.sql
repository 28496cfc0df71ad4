-- The reviewer who reviews a pending request. A claim gives no right. Older programs show none, and
-- cannot purge requests that request_claim references. Therefore this migration is breaking.

create table request_claim (
  project_id text not null,
  request_id text not null,
  reviewer_id text not null,
  claimed_at bigint not null,
  claimed_until bigint not null,
  primary key (project_id, request_id),
  foreign key (project_id, request_id) references request (project_id, id)
);
