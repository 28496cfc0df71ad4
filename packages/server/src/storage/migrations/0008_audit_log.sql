-- The audit log, sealed: a Merkle tree over the entries of each project (RFC 6962), with signed
-- checkpoints. The project '' is the whole server. Programs of the schema before write entries as
-- ever, and those are sealed by others.
-- compatible with: 7

create table audit_log (
  project_id text not null primary key,
  public_key text not null, -- Ed25519, base64 of the raw 32 bytes
  sealed_private_key text not null,
  size bigint not null, -- how many entries are sealed
  frontier text not null, -- JSON array: hashes of the full subtrees, from the left, base64
  sealed_id text not null, -- the highest id that is sealed
  checkpoint text not null, -- the latest, as a signed note
  sealed_at bigint not null
);

-- Which entries stand where, as they were sealed; never changed.
create table audit_seal (
  project_id text not null,
  position bigint not null, -- of the first of them, from 0
  entries bigint not null, -- how many
  ids text not null, -- JSON array: their ids, in their order
  hashes text not null, -- base64 of their leaf hashes, one after another
  checkpoint text not null, -- of the log with all of them, as a signed note
  sealed_at bigint not null,
  primary key (project_id, position)
);
