-- Policy, standing grants, freezes and votes. A program of an older schema would record calls
-- without asking policy, and let one reviewer decide what needs two: this one is breaking.

-- JSON text, see policy/judgement.ts: how policy judged the call, and what deciding it takes.
-- Null where there was no policy: any one reviewer decides.
alter table request add column policy text;

-- JSON array of names, given by whoever administers the project; an instance cannot choose them.
alter table instance add column group_names text not null default '[]';
alter table instance add column owner_id text; -- a reviewer, who may be excluded from deciding

-- What a rule may name, without a look at all those instances that are in no group.
create index instance_grouped on instance (project_id, group_names, deleted_at)
  where group_names <> '[]' and deleted_at is null;

-- JSON array of names.
alter table reviewer add column group_names text not null default '[]';

-- Every policy that was ever in force; never changed, never erased. The highest number is in
-- force. The project '' is the whole server: its policy is the floor below every project's.
create table policy_version (
  project_id text not null,
  number bigint not null, -- from 1
  sha256 text not null, -- of the source
  source text not null,
  note text, -- why it was published
  published_at bigint not null,
  published_by text not null, -- as an actor of the audit log
  primary key (project_id, number)
);

-- Grows with every change of the tables below and above, so that each call asks one row of this
-- and not all of them. The project '' is the whole server.
create table in_force_stamp (
  project_id text not null,
  stamp bigint not null,
  primary key (project_id)
);

-- While one is not lifted, what it covers is denied. The project '' is the whole server.
create table standing_freeze (
  project_id text not null,
  id text not null,
  instance_id text not null, -- '' is every instance
  note text,
  frozen_at bigint not null,
  frozen_by text not null,
  lifted_at bigint,
  lifted_by text,
  primary key (project_id, id)
);

create unique index standing_freeze_in_force on standing_freeze (project_id, instance_id) where lifted_at is null;

-- A reviewer's bounded answer to calls of one instance that are yet to come.
create table standing_grant (
  project_id text not null,
  id text not null,
  instance_id text not null,
  reviewer_id text not null, -- whose authority it is
  terms text not null, -- JSON text: which calls
  created_at bigint not null,
  expires_at bigint not null,
  calls_max bigint not null,
  calls bigint not null default 0, -- approved with it so far
  revoked_at bigint,
  revoked_by text,
  primary key (project_id, id)
);

create index standing_grant_of_instance on standing_grant (project_id, instance_id)
  where revoked_at is null;

-- Approvals that wait for more of them; a denial ends the request and is not kept here.
create table vote (
  project_id text not null,
  request_id text not null,
  reviewer_id text not null,
  note text, -- JSON text
  validity_ms bigint, -- how long the voter would let the approval be used
  voted_at bigint not null,
  primary key (project_id, request_id, reviewer_id)
);
