-- People who sign in, what they sign in with, and what their tokens may do. A program of an older
-- schema would let a token with few scopes do all that its holder may: this one is breaking.

-- Somebody who signs in. Of the whole server: what a person may do in a project is said by the
-- reviewer that the person is there.
create table person (
  id text not null primary key,
  login text not null unique, -- lower case; what a person signs in with, often an email address
  name text not null, -- how others see it
  password_hash text, -- scrypt with its parameters; null without a password
  oidc_subject text unique, -- JSON array of issuer and subject; null for those who sign in here
  created_at bigint not null,
  disabled_at bigint
);

-- A public key with which a person signs in and signs decisions (WebAuthn).
create table passkey (
  id text not null primary key, -- the credential id, base64url
  person_id text not null references person (id),
  name text not null,
  public_key text not null, -- COSE key, base64url
  counter bigint not null, -- the highest signature counter that was seen
  transports text not null, -- JSON array
  created_at bigint not null,
  used_at bigint
);

create index passkey_person on passkey (person_id);

create table session (
  token_hash text not null primary key, -- SHA-256 of what the cookie holds, base64url
  id text not null,
  person_id text not null references person (id),
  project_id text not null, -- the one that is looked at
  method text not null, -- password | passkey | oidc
  user_agent text not null,
  created_at bigint not null,
  seen_at bigint not null, -- written at most once a minute
  expires_at bigint not null
);

create index session_person on session (person_id);
create index session_age on session (expires_at);

-- A link that lets somebody become a reviewer of a project, once; also that of the first start,
-- and the one with which a person who lost every key comes back.
create table invitation (
  token_hash text not null primary key,
  id text not null,
  project_id text not null,
  person_id text, -- who comes back; null for somebody new
  name text not null,
  role text not null,
  group_names text not null, -- JSON array
  created_at bigint not null,
  created_by text not null, -- as an actor of the audit log
  expires_at bigint not null,
  used_at bigint
);

create index invitation_age on invitation (expires_at);

-- What was begun with a browser and is to be ended by it, once and soon: a challenge that a passkey
-- is to sign, a sign-in that is at the identity provider.
create table ceremony (
  id text not null primary key, -- SHA-256 of what the browser brings back, base64url
  kind text not null,
  person_id text,
  detail text not null, -- JSON text
  expires_at bigint not null
);

create index ceremony_age on ceremony (expires_at);

alter table reviewer add column kind text not null default 'person'; -- person | bot
alter table reviewer add column person_id text; -- who it is; null for those with tokens only
alter table reviewer add column removed_at bigint; -- may do nothing any more; kept for its name

-- Who was removed can come back, as another reviewer.
create unique index reviewer_person on reviewer (project_id, person_id)
  where person_id is not null and removed_at is null;
create index reviewer_of_person on reviewer (person_id) where person_id is not null;

-- What somebody owns who comes back to a project.
create index instance_owned on instance (project_id, owner_id) where owner_id is not null;

-- JSON array of what the token may do of all that its holder may; null is all of it.
alter table credential add column scopes text;

-- JSON array of the groups that the vote counts for, by the scopes of the token that it came with;
-- null counts for whatever its voter is named by.
alter table vote add column for_groups text;

-- JSON text: the assertion of a passkey with which the vote was signed.
alter table vote add column proof text;

-- 'oidc': the identity provider gives role and groups at each sign-in, and takes them away; null:
-- somebody here does. Who is removed by hand is not managed any more, and stays removed.
alter table reviewer add column managed_by text;
