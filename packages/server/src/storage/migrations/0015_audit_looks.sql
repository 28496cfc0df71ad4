-- compatible with: 14
-- A look for late entries that its process did not live to end is made again.

-- When the last look that has ended was begun, where `looked_at` is when the last one was; what is
-- here at 0 is looked over whole, once.
alter table audit_log add column looked_through bigint not null default 0;
