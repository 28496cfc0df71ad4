-- Receivers, the durable outbox of notifications, and verifications that are under way.

-- The active, verified receiver of an instance; no row while it has none.
create table receiver (
  instance_id text not null primary key references instance (id),
  url text not null,
  registration_id text not null, -- as the provisioner spelled it
  sealed_secret text not null, -- the signing secret, encrypted
  verified_at bigint not null
);

-- Counts how often the receiver was removed (deletion of the instance included). Notifications
-- carry the number of their day: those of an earlier one have ended, all at once, however many
-- there are, and a later receiver does not get them.
alter table instance add column delivery_epoch bigint not null default 0;

-- One notification for each request that became terminal under a receiver, written with the
-- decision. Attempts are read from `next_at` alone: it is null exactly when delivery has ended,
-- and while an attempt is outstanding it is the end of its lease.
create table notification (
  id text not null primary key, -- the webhook-id
  request_id text not null unique references request (id),
  instance_id text not null,
  project_id text not null,
  delivery_epoch bigint not null,
  body text not null, -- the exact bytes of every attempt; ASCII
  created_at bigint not null, -- decided_at of the decision; the window counts from here
  next_at bigint,
  not_before bigint, -- what the receiver asked for with Retry-After; nobody may try earlier
  claimed_until bigint, -- end of the lease of the outstanding attempt
  fence bigint not null, -- grows with every claim; a result of an older claim is ignored
  attempts bigint not null, -- completed ones
  last_at bigint, -- when the last attempt ended
  last_outcome text, -- acknowledged | rejected | refused | unreachable:<reason>
  last_status bigint, -- HTTP status, if there was an answer
  ended_at bigint,
  ended_by text -- acknowledged | window | removal | deletion
);

create index notification_due on notification (instance_id, next_at) where next_at is not null;
create index notification_claimed on notification (claimed_until)
  where claimed_until is not null and next_at is not null;
create index notification_waiting on notification (project_id, next_at, id)
  where next_at is not null;
create index notification_ended on notification (project_id, ended_at, id)
  where ended_at is not null;

-- Provisionings and updates whose receiver is being verified. A row outlives a failure for a
-- while, so that those who joined the attempt learn how it ended.
create table verification (
  scope text not null, -- as in idempotency
  key_hash text not null,
  fingerprint text not null,
  instance_id text not null, -- reserved before the instance exists
  fence bigint not null, -- grows with every attempt under this key
  lease_until bigint not null, -- 0 once the attempt has failed
  failure text, -- code of the problem with which the attempt of this fence failed
  retry_after_s bigint, -- what that problem says of trying again
  updated_at bigint not null,
  primary key (scope, key_hash)
);

create index verification_age on verification (updated_at);
