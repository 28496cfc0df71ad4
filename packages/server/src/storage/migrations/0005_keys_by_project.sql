-- Every key carries its project, so that a distributed PostgreSQL can keep each project whole on
-- one shard: docs/decisions/0011-primary-keys-carry-the-project.md. Tables are made anew and
-- filled from the old ones, because SQLite cannot change a primary key.

alter table provisioner rename to old_provisioner;
alter table reviewer rename to old_reviewer;
alter table instance rename to old_instance;
alter table credential rename to old_credential;
alter table idempotency rename to old_idempotency;
alter table request rename to old_request;
alter table audit_entry rename to old_audit_entry;
alter table receiver rename to old_receiver;
alter table notification rename to old_notification;
alter table verification rename to old_verification;

create table provisioner (
  project_id text not null references project (id),
  id text not null,
  name text not null,
  created_at bigint not null,
  primary key (project_id, id),
  unique (project_id, name)
);

insert into provisioner (project_id, id, name, created_at)
  select project_id, id, name, created_at from old_provisioner;

create table reviewer (
  project_id text not null references project (id),
  id text not null,
  name text not null,
  role text not null, -- viewer | reviewer
  created_at bigint not null,
  primary key (project_id, id),
  unique (project_id, name)
);

insert into reviewer (project_id, id, name, role, created_at)
  select project_id, id, name, role, created_at from old_reviewer;

create table instance (
  project_id text not null,
  id text not null,
  provisioner_id text not null,
  name text not null, -- JSON text
  created_at bigint not null,
  deleted_at bigint,
  -- Counts how often the receiver was removed; see 0002.
  delivery_epoch bigint not null default 0,
  primary key (project_id, id),
  foreign key (project_id, provisioner_id) references provisioner (project_id, id)
);

insert into instance
    (project_id, id, provisioner_id, name, created_at, deleted_at, delivery_epoch)
  select project_id, id, provisioner_id, name, created_at, deleted_at, delivery_epoch
  from old_instance;

-- The one table whose key is without a project: a token is looked up before its project is known.
create table credential (
  token_hash text not null primary key, -- SHA-256 of the token, base64url
  id text not null,
  kind text not null, -- provisioner | instance | reviewer
  holder_id text not null, -- id in the table of that kind
  project_id text not null references project (id),
  created_at bigint not null,
  expires_at bigint,
  revoked_at bigint
);

insert into credential
    (token_hash, id, kind, holder_id, project_id, created_at, expires_at, revoked_at)
  select token_hash, id, kind, holder_id, project_id, created_at, expires_at, revoked_at
  from old_credential;

create table idempotency (
  project_id text not null,
  scope text not null, -- operation and whose key it is
  key_hash text not null, -- SHA-256 of the Idempotency-Key, base64url
  fingerprint text not null, -- keyed hash of the canonical input
  instance_id text not null, -- reserved before the instance exists
  result text not null, -- JSON text: the instance as it was answered
  sealed_credential text, -- the issued credential, encrypted; only for provisioning
  created_at bigint not null,
  primary key (project_id, scope, key_hash)
);

-- A scope is `provision:PROVISIONER` or `update:PROVISIONER:INSTANCE`. Who is none of these
-- provisioners cannot ask for it.
insert into idempotency
    (project_id, scope, key_hash, fingerprint, instance_id, result, sealed_credential, created_at)
  select old_provisioner.project_id, scope, key_hash, fingerprint, instance_id, result,
    sealed_credential, old_idempotency.created_at
  from old_idempotency join old_provisioner on old_provisioner.id =
    case when scope like 'update:%' then substr(scope, 8, 36) else substr(scope, 11) end;

create table verification (
  project_id text not null,
  scope text not null, -- as in idempotency
  key_hash text not null,
  fingerprint text not null,
  instance_id text not null, -- reserved before the instance exists
  fence bigint not null, -- grows with every attempt under this key
  lease_until bigint not null, -- 0 once the attempt has failed
  failure text, -- code of the problem with which the attempt of this fence failed
  retry_after_s bigint, -- what that problem says of trying again
  updated_at bigint not null,
  primary key (project_id, scope, key_hash)
);

insert into verification
    (project_id, scope, key_hash, fingerprint, instance_id, fence, lease_until, failure,
     retry_after_s, updated_at)
  select old_provisioner.project_id, scope, key_hash, fingerprint, instance_id, fence,
    lease_until, failure, retry_after_s, updated_at
  from old_verification join old_provisioner on old_provisioner.id =
    case when scope like 'update:%' then substr(scope, 8, 36) else substr(scope, 11) end;

create table receiver (
  project_id text not null,
  instance_id text not null,
  url text not null,
  registration_id text not null, -- as the provisioner spelled it
  sealed_secret text not null, -- the signing secret, encrypted
  verified_at bigint not null,
  primary key (project_id, instance_id),
  foreign key (project_id, instance_id) references instance (project_id, id)
);

insert into receiver
    (project_id, instance_id, url, registration_id, sealed_secret, verified_at)
  select old_instance.project_id, instance_id, url, registration_id, sealed_secret, verified_at
  from old_receiver join old_instance on old_instance.id = old_receiver.instance_id;

create table request (
  project_id text not null,
  id text not null,
  instance_id text not null,
  -- 192 bits of SHA-256 over instance and Idempotency-Key, base64url: short, because a random key
  -- touches another page of its index at every insert.
  key_hash text not null,
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
  checksum bigint not null, -- CRC-32 over what the other columns say; see 0001
  primary key (project_id, id),
  unique (project_id, key_hash),
  foreign key (project_id, instance_id) references instance (project_id, id)
);

insert into request
    (project_id, id, instance_id, key_hash, status, created_at, deadline_at, decided_at,
     expires_at, decided_by, note, tool, timeout, agent_reasoning, context, arguments, checksum)
  select project_id, id, instance_id, key_hash, status, created_at, deadline_at, decided_at,
    expires_at, decided_by, note, tool, timeout, agent_reasoning, context, arguments, checksum
  from old_request;

create table notification (
  project_id text not null,
  id text not null, -- the webhook-id
  request_id text not null,
  instance_id text not null,
  delivery_epoch bigint not null,
  body text not null, -- the exact bytes of every attempt; ASCII
  created_at bigint not null, -- decided_at of the decision; the window counts from here
  next_at bigint, -- null exactly when delivery has ended
  not_before bigint, -- what the receiver asked for with Retry-After; nobody may try earlier
  claimed_until bigint, -- end of the lease of the outstanding attempt
  fence bigint not null, -- grows with every claim; a result of an older claim is ignored
  attempts bigint not null, -- completed ones
  last_at bigint, -- when the last attempt ended
  last_outcome text, -- acknowledged | rejected | refused | unreachable:<reason>
  last_status bigint, -- HTTP status, if there was an answer
  ended_at bigint,
  ended_by text, -- acknowledged | window | removal | deletion
  primary key (project_id, id),
  unique (project_id, request_id),
  foreign key (project_id, request_id) references request (project_id, id)
);

insert into notification
    (project_id, id, request_id, instance_id, delivery_epoch, body, created_at, next_at,
     not_before, claimed_until, fence, attempts, last_at, last_outcome, last_status, ended_at,
     ended_by)
  select project_id, id, request_id, instance_id, delivery_epoch, body, created_at, next_at,
    not_before, claimed_until, fence, attempts, last_at, last_outcome, last_status, ended_at,
    ended_by
  from old_notification;

-- What happened, written in the transaction in which it happened; never updated or deleted.
create table audit_entry (
  project_id text not null,
  id text not null,
  at bigint not null,
  kind text not null,
  actor text not null, -- kind:id
  subject text not null, -- kind:id
  detail text not null, -- JSON text without secrets
  primary key (project_id, id)
);

insert into audit_entry (project_id, id, at, kind, actor, subject, detail)
  select project_id, id, at, kind, actor, subject, detail from old_audit_entry;

-- Those that refer to others first.
drop table old_notification;
drop table old_receiver;
drop table old_request;
drop table old_instance;
drop table old_verification;
drop table old_idempotency;
drop table old_credential;
drop table old_reviewer;
drop table old_provisioner;
drop table old_audit_entry;

-- The project comes first where statements name it. Those without are for workers, which look
-- over all projects, and for what is known of a credential.
create index instance_deleted on instance (deleted_at) where deleted_at is not null;
create index credential_id on credential (id);
create index credential_holder on credential (holder_id);
create index idempotency_age on idempotency (created_at);
create index idempotency_instance on idempotency (project_id, instance_id);
create index verification_age on verification (updated_at);
create index request_instance on request (project_id, instance_id);
create index request_deadline on request (deadline_at) where status = 'pending';
create index request_pending on request (project_id, deadline_at) where status = 'pending';
create index request_decided on request (project_id, decided_at) where decided_at is not null;
create index notification_due on notification (project_id, instance_id, next_at)
  where next_at is not null;
-- Without the id: SQLite would prefer it to notification_due for one instance in this order.
create index notification_waiting on notification (project_id, next_at) where next_at is not null;
create index notification_ended on notification (project_id, ended_at, id)
  where ended_at is not null;
