-- Entries of the audit log can move to an archive. Older programs never prune a log; they seal and
-- decide as before.
-- compatible with: 34

-- Entries before this position are only in an archive.
alter table audit_log add column pruned bigint not null default 0;
-- The entry `audit.pruned` that allows it; empty: none.
alter table audit_log add column pruned_by text not null default '';
