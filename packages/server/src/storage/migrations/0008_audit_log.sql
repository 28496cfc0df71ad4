-- The audit log, sealed: a Merkle tree over the entries of each project (RFC 9162), with signed
-- checkpoints. The project '' is the whole server. A program of the schema before would rotate the
-- secret key without the keys of the logs: this one is breaking.

create table audit_log (
  project_id text not null primary key,
  origin text not null, -- first line of its checkpoints, and the name of its key
  public_key text not null, -- Ed25519, base64 of the raw 32 bytes
  sealed_private_key text not null,
  size bigint not null, -- how many entries are sealed
  frontier text not null, -- hashes of the full subtrees, from the left; see audit_seal.hashes
  sealed_id text not null, -- new entries are looked for from a little before this id on
  checkpoint text not null, -- the latest, as a signed note
  sealed_at bigint not null,
  looked_at bigint not null, -- when entries that were committed late were looked for
  walked_at bigint not null, -- the same over the whole log: when it ended, or was last at work
  walked_id text not null -- how far that has come; empty when it is not under way
);

-- Which entries stand where, as they were sealed; never changed.
create table audit_seal (
  project_id text not null,
  position bigint not null, -- of the first of them, from 0
  entries bigint not null, -- how many
  first_id text not null, -- at most ten seconds before the last, by the time in them
  last_id text not null,
  ids text not null, -- their ids, in their order, with spaces between
  hashes text not null, -- their leaf hashes, 43 characters of base64url each
  checkpoint text not null, -- of the log with all of them, as a signed note
  sealed_at bigint not null,
  primary key (project_id, position)
);

create index audit_seal_ids on audit_seal (project_id, last_id);

-- Hashes of full subtrees of 256, 65,536, ... entries (level 1, 2, ...), 256 to a row: what proofs
-- are made of without all leaves. Computed from the seals, and nothing relies on them.
create table audit_tile (
  project_id text not null,
  level bigint not null,
  tile bigint not null,
  hashes text not null,
  primary key (project_id, level, tile)
);
