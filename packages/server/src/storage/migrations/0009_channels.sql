-- Telling reviewers that somebody waits for them. A program of the schema before tells nobody, does
-- not seal targets anew and erases requests that these rows refer to: this one is breaking.

create table channel (
  project_id text not null,
  id text not null,
  name text not null,
  kind text not null, -- webhook | email | slack | ntfy
  group_names text not null, -- JSON array: whose requests it tells of; empty is all
  includes_arguments bigint not null, -- 0 | 1
  remind_ms bigint, -- how long before the deadline a reminder is due; null is none
  target_shown text not null, -- what of the target people may see
  sealed_target text not null, -- JSON text, sealed: where to, and what proves that it is us
  created_at bigint not null,
  created_by text not null,
  disabled_at bigint,
  -- Sending: one process at a time sends to a channel, under a lease.
  claimed_until bigint,
  fence bigint not null,
  failures bigint not null, -- since the last message that arrived
  retry_at bigint, -- nothing is sent before, after a failure
  last_at bigint,
  last_outcome text,
  last_status bigint,
  minute_at bigint, -- when the minute began in which messages are counted
  minute_messages bigint not null,
  sent_at bigint,
  primary key (project_id, id),
  unique (project_id, name)
);

-- One message for each request that asks and channel that is to tell of it, and perhaps a reminder,
-- written with the request. It is due from `next_at` on, which is null exactly when it has ended.
create table announcement (
  project_id text not null,
  id text not null,
  request_id text not null,
  channel_id text not null,
  occasion text not null, -- opened | reminder
  created_at bigint not null,
  deadline_at bigint not null, -- that of the request
  next_at bigint,
  ended_at bigint,
  ended_by text, -- sent | resolved | window | removal
  primary key (project_id, id),
  unique (project_id, request_id, channel_id, occasion),
  foreign key (project_id, request_id) references request (project_id, id)
);

create index announcement_due on announcement (project_id, channel_id, next_at)
  where next_at is not null;
create index announcement_ended on announcement (project_id, ended_at)
  where ended_at is not null;
