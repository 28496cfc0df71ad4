-- What people prefer, and the browsers that are told by Web Push. A program of the schema before
-- would not seal these targets anew and would erase requests that messages refer to: this one is
-- breaking.

create table preference (
  person_id text not null primary key references person (id),
  preferences text not null, -- JSON text, with its version
  changed_at bigint not null
);

-- The key pair that push services know this server by (VAPID, RFC 8292).
create table push_key (
  id text not null primary key, -- vapid
  public_key text not null, -- base64url, uncompressed point
  sealed_private_key text not null,
  created_at bigint not null
);

-- A browser of a person. Sending: one process at a time, under a lease.
create table push_subscription (
  id text not null primary key,
  person_id text not null references person (id),
  endpoint_sha256 text not null unique, -- hex
  name text not null,
  target_shown text not null, -- what of the endpoint people may see
  sealed_target text not null, -- JSON text, sealed: endpoint and keys
  created_at bigint not null,
  claimed_until bigint,
  fence bigint not null,
  failures bigint not null, -- since the last message that arrived
  retry_at bigint, -- nothing is sent before, after a failure
  last_at bigint,
  last_outcome text,
  last_status bigint
);

create index push_subscription_person on push_subscription (person_id);

-- One for each request and browser that is told of it. Due from `next_at` on: first that it waits,
-- later that it has ended; between the two it is shown, and `next_at` is null. Then it is gone.
create table push_message (
  project_id text not null,
  request_id text not null,
  subscription_id text not null,
  is_shown bigint not null, -- 0 | 1
  next_at bigint,
  primary key (project_id, request_id, subscription_id),
  foreign key (project_id, request_id) references request (project_id, id)
);

create index push_message_due on push_message (subscription_id, next_at)
  where next_at is not null;
create index push_message_shown on push_message (project_id, request_id) where next_at is null;
