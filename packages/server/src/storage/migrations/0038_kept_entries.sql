-- The few entries that record which passkeys were added and which policies were published. Every
-- verification of a log reads them, and an archive keeps them. Other entries have no row in this
-- index. On PostgreSQL, it is built from one scan of the audit log while nothing can be written.
-- compatible with: 34

create index audit_entry_kept on audit_entry (project_id, kind)
  where kind in ('passkey.added', 'policy.published');
