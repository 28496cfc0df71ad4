-- Telling reviewers that somebody waits for them. A program of the schema before tells nobody, and
-- what it records meanwhile is seen in the inbox only.
-- compatible with: 8

create table channel (
  project_id text not null,
  id text not null,
  name text not null,
  kind text not null, -- webhook | email | slack | ntfy
  group_names text not null, -- JSON array: whose requests it tells of; empty is all
  sealed_target text not null, -- JSON text, sealed: where to, and what proves that it is us
  created_at bigint not null,
  created_by text not null,
  disabled_at bigint,
  primary key (project_id, id),
  unique (project_id, name)
);

-- One message for each request that asks and channel that is to tell of it, written with the
-- request. It is sent from `next_at` alone, which is null exactly when it has ended.
create table announcement (
  project_id text not null,
  id text not null,
  request_id text not null,
  channel_id text not null,
  created_at bigint not null,
  next_at bigint,
  claimed_until bigint,
  fence bigint not null,
  attempts bigint not null,
  last_at bigint,
  last_outcome text,
  ended_at bigint,
  ended_by text, -- sent | resolved | window | removal
  primary key (project_id, id),
  unique (project_id, request_id, channel_id),
  foreign key (project_id, request_id) references request (project_id, id)
);

create index announcement_due on announcement (next_at) where next_at is not null;
create index announcement_ended on announcement (ended_at) where ended_at is not null;
