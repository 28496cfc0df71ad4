-- compatible with: 17
-- The order of concurrent updates, and the backoff of a notification at a new receiver. A program
-- of the schema before applies a superseded update as it always did.

alter table verification add column accepted_at bigint not null default 0;
-- 1 when the update also sets the name.
alter table verification add column renames bigint not null default 0;
-- When a later update of the instance committed, which this attempt must not overwrite.
alter table verification add column superseded_at bigint;

create index verification_instance on verification (project_id, instance_id);

-- How many of the attempts were made at receivers before the current one: its backoff starts anew.
alter table notification add column retries_from bigint not null default 0;
