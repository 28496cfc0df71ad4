-- Requests and audit entries carry a MAC under a key of the database, so that write access to the
-- database alone cannot make one up. A program of the schema before would write rows without it:
-- this one is breaking.

-- The key of the MACs and the time since when rows have them, sealed. Null until the first start
-- after this migration.
alter table secret_key add column sealed_row_key text;

-- HMAC-SHA-256 over the other columns, 128 bits in base64url; null in rows from before. A row with
-- a MAC has 0 as its checksum.
alter table request add column mac text;
alter table audit_entry add column mac text;
