-- Users and groups that an identity provider sends over SCIM. An older program would take their
-- roles from the id token at a sign-in. Therefore this migration is breaking.

create table scim_token (
  token_hash text not null primary key,
  id text not null unique,
  name text not null,
  created_at bigint not null,
  expires_at bigint, -- null: never
  revoked_at bigint
);

-- How the provider names the user, such as the claim `sub` of its id tokens.
alter table person add column external_id text;

-- `operator` or `scim`; null: enabled, or disabled before this migration.
alter table person add column disabled_by text;

create unique index person_external_id on person (external_id);

create table scim_user (
  person_id text not null primary key references person (id),
  user_name text not null, -- as the provider sent it
  user_name_key text not null unique, -- in the form of a login, to compare
  attributes text not null, -- JSON text: name, displayName and emails
  created_at bigint not null,
  changed_at bigint not null
);

create table scim_group (
  id text not null primary key,
  display_name text not null,
  external_id text,
  created_at bigint not null,
  changed_at bigint not null
);

create table scim_member (
  group_id text not null references scim_group (id),
  person_id text not null references scim_user (person_id),
  primary key (group_id, person_id)
);

create index scim_member_person on scim_member (person_id);
