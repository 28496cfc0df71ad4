-- Tables and columns get the names that the code has for them. No row changes and no table is
-- rewritten. A program of the schema before names the old ones: this one is breaking.

alter table standing_freeze rename to call_freeze;
drop index standing_freeze_in_force;
create unique index call_freeze_active on call_freeze (project_id, instance_id)
  where lifted_at is null;

alter table standing_grant rename to call_grant;
drop index standing_grant_of_instance;
create index call_grant_of_instance on call_grant (project_id, instance_id)
  where revoked_at is null;

alter table in_force_stamp rename to active_state_stamp;

alter table held_verdict rename to delayed_verdict;
alter table delayed_verdict rename column held_at to received_at;
drop index held_verdict_due;
create index delayed_verdict_due on delayed_verdict (commits_at);

alter table confirmation_miss rename to failed_confirmation;
alter table failed_confirmation rename column misses to attempts;
alter table failed_confirmation rename column missed_at to failed_at;

-- When the last rescan for late entries started, and when the last one that ended had started.
alter table audit_log rename column looked_at to rescan_started_at;
alter table audit_log rename column looked_through to rescanned_at;
-- When the last full scan ended or made progress, and the id up to which a running one has come.
alter table audit_log rename column walked_at to full_scan_at;
alter table audit_log rename column walked_id to full_scan_id;

-- "Sealed" is what entries of the audit log are; secrets are encrypted.
alter table audit_log rename column sealed_private_key to encrypted_private_key;
alter table channel rename column sealed_target to encrypted_target;
alter table idempotency rename column sealed_credential to encrypted_credential;
alter table push_key rename column sealed_private_key to encrypted_private_key;
alter table push_subscription rename column sealed_target to encrypted_target;
alter table receiver rename column sealed_secret to encrypted_secret;
alter table secret_key rename column sealed_fingerprint_key to encrypted_fingerprint_key;
alter table secret_key rename column sealed_row_key to encrypted_row_key;
