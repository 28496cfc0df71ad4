-- The session at the identity provider in which a session started, so that the provider can end it.
-- compatible with: 34

-- SHA-256 of issuer and `sid` of the id token, base64url; null: another method, or no `sid`.
alter table session add column provider_session_hash text;

-- `iat` of the id token in epoch ms; null: another method, or a program before this migration.
alter table session add column provider_issued_at bigint;

create index session_provider on session (provider_session_hash);
