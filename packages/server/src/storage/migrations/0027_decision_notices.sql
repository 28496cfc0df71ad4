-- Messages about decisions, for channels that want them. Older programs send none, and cannot purge
-- requests that decision_notice references. Therefore this migration is breaking.

alter table channel add column on_decision bigint not null default 0; -- 1: decisions of people
alter table channel add column instance_ids text not null default '[]'; -- empty: all instances

alter table channel add column digest_ms bigint; -- between two digests; null: single messages

create table decision_notice (
  project_id text not null,
  channel_id text not null,
  request_id text not null,
  id text not null, -- of the message
  ended_at bigint, -- null: not sent
  primary key (project_id, channel_id, request_id),
  foreign key (project_id, request_id) references request (project_id, id)
);

create index decision_notice_open on decision_notice (project_id, channel_id)
  where ended_at is null;
create index decision_notice_request on decision_notice (project_id, request_id);
