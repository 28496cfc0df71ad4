-- The synchronous contract. One text for SQLite and PostgreSQL: times are epoch milliseconds,
-- identifiers are UUID text. Columns marked "JSON text" hold the source of one JSON value, so
-- that exact numbers, escapes and \u0000 survive any engine.

-- One row, written to find out whether the disk takes a write.
create table health (
  checked_at bigint not null
);

insert into health (checked_at) values (0);

-- Which secret key the sealed columns were sealed with.
create table secret_key (
  key_id text not null primary key
);

create table project (
  id text not null primary key,
  name text not null unique,
  created_at bigint not null
);

create table provisioner (
  id text not null primary key,
  project_id text not null references project (id),
  name text not null,
  created_at bigint not null,
  unique (project_id, name)
);

create table reviewer (
  id text not null primary key,
  project_id text not null references project (id),
  name text not null,
  role text not null, -- viewer | reviewer
  created_at bigint not null,
  unique (project_id, name)
);

create table instance (
  id text not null primary key,
  project_id text not null references project (id),
  provisioner_id text not null references provisioner (id),
  name text not null, -- JSON text
  created_at bigint not null,
  deleted_at bigint
);

create index instance_deleted on instance (deleted_at) where deleted_at is not null;

create table credential (
  id text not null primary key,
  token_hash text not null unique, -- SHA-256 of the token, base64url
  kind text not null, -- provisioner | instance | reviewer
  holder_id text not null, -- id in the table of that kind
  project_id text not null references project (id),
  created_at bigint not null,
  expires_at bigint,
  revoked_at bigint
);

create index credential_holder on credential (holder_id);

-- Keys of provisioning and updates. Keys of requests live on the request itself, so that both
-- are kept equally long.
create table idempotency (
  scope text not null, -- operation and whose key it is
  key_hash text not null, -- SHA-256 of the Idempotency-Key, base64url
  fingerprint text not null, -- keyed hash of the canonical input
  instance_id text not null, -- reserved before the instance exists
  result text not null, -- JSON text: the instance as it was answered
  sealed_credential text, -- the issued credential, encrypted; only for provisioning
  created_at bigint not null,
  primary key (scope, key_hash)
);

create index idempotency_age on idempotency (created_at);
create index idempotency_instance on idempotency (instance_id);

create table request (
  id text not null primary key,
  instance_id text not null references instance (id),
  project_id text not null,
  -- 192 bits of SHA-256 over instance and Idempotency-Key, base64url. Alone and short, because
  -- a random key touches another page of its index at every insert.
  key_hash text not null unique,
  status text not null, -- pending | approved | denied | expired | cancelled
  created_at bigint not null,
  deadline_at bigint not null,
  decided_at bigint,
  expires_at bigint, -- only when approved
  decided_by text, -- kind:id of who or what ended it
  note text, -- JSON text
  tool text not null, -- JSON text
  timeout text not null,
  agent_reasoning text, -- JSON text
  context text, -- JSON text
  arguments text not null, -- JSON text
  -- CRC-32 over what the other columns say: a database file has no checksums of its own, and a
  -- flipped bit must not become another decision.
  checksum bigint not null
);

create index request_instance on request (instance_id);
create index request_deadline on request (deadline_at) where status = 'pending';
create index request_pending on request (project_id, deadline_at) where status = 'pending';
create index request_decided on request (project_id, decided_at) where decided_at is not null;

-- What happened, written in the transaction in which it happened; never updated or deleted.
create table audit_entry (
  id text not null primary key,
  at bigint not null,
  project_id text not null,
  kind text not null,
  actor text not null, -- kind:id
  subject text not null, -- kind:id
  detail text not null -- JSON text without secrets
);
