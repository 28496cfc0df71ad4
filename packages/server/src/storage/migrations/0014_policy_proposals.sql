-- Policy that takes two people. A program of the schema before would let one of them publish: this
-- one is breaking.

-- Whether another person than its author must publish what comes after this version.
alter table policy_version add column is_two_person bigint not null default 0; -- 0 | 1
alter table policy_version add column proposed_by text; -- as an actor; null when it was not proposed

-- What somebody wrote for another person to publish; never changed but to be closed, never erased.
-- The project '' is the floor.
create table policy_proposal (
  project_id text not null,
  id text not null,
  base_number bigint not null, -- of the version that it began from; 0 for none
  sha256 text not null, -- of the source
  source text not null,
  note text,
  restores bigint, -- the older version that this is the source of
  tests bigint not null, -- that it brings; all passed when it was proposed
  proposed_at bigint not null,
  proposed_by text not null, -- as an actor of the audit log
  proposer_project_id text not null, -- a reviewer is one of a project
  outcome text, -- published | rejected; null while it is open
  closed_at bigint,
  closed_by text,
  reason text, -- why it was rejected
  primary key (project_id, id)
);

create index policy_proposal_open on policy_proposal (project_id, id) where closed_at is null;
