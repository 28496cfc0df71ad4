-- Groups and owner of an instance decide which rules apply to it. Where policy takes two people, a
-- change of them does as well. A program of the schema before would let one person change them:
-- this one is breaking.

-- The change that one person has proposed; all null when there is none.
alter table instance add column proposed_group_names text; -- JSON array
alter table instance add column proposed_owner_id text; -- null also for no owner
alter table instance add column proposed_by text; -- as an actor of the audit log
alter table instance add column proposed_at bigint; -- null exactly when nothing is proposed
