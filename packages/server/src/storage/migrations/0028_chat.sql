-- Decisions in chats. The table channel can have the kinds telegram, discord and mattermost. Older
-- programs cannot send to them. Therefore this migration is breaking.

alter table channel add column decides bigint not null default 0; -- 1: messages have buttons

-- The buttons of a message. Null: it has none.
alter table channel_post add column nonce text;
alter table channel_post add column arguments_sha256 text; -- of the displayed arguments
alter table channel_post add column votes bigint not null default 0; -- as displayed

create index channel_post_place on channel_post (project_id, posted_in, post_id);

-- Users of chats who may decide as a reviewer.
create table chat_link (
  project_id text not null,
  id text not null,
  platform text not null, -- a kind of channel
  team_id text not null,
  user_id text not null,
  user_name text not null, -- as the chat displayed it; never used to identify the user
  reviewer_id text not null,
  linked_at bigint not null,
  primary key (project_id, id),
  unique (project_id, platform, team_id, user_id)
);

create index chat_link_reviewer on chat_link (project_id, reviewer_id);

-- Codes that link a user of a chat to the reviewer who created the code.
create table chat_code (
  project_id text not null,
  reviewer_id text not null,
  code_hash text not null,
  expires_at bigint not null,
  primary key (project_id, reviewer_id),
  unique (project_id, code_hash)
);

create index chat_code_expires on chat_code (project_id, expires_at);

-- Events with a verdict that arrived. A second one with the same id is a replay.
create table chat_event (
  project_id text not null,
  channel_id text not null,
  event_id text not null,
  arrived_at bigint not null,
  primary key (project_id, channel_id, event_id)
);

create index chat_event_arrived on chat_event (project_id, arrived_at);

-- Connections to chats, which one process owns at a time.
create table chat_connection (
  project_id text not null,
  app text not null, -- SHA-256 of a secret of the app
  owner text not null, -- the process
  owned_until bigint not null,
  state text not null, -- connecting | connected | an error of a fixed list
  changed_at bigint not null,
  primary key (project_id, app)
);
