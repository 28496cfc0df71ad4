-- Messages of Slack apps, which the server updates when their request is resolved. The table
-- channel can have the kind slack_app. Older programs cannot send to it, and cannot purge requests
-- that channel_post references. Therefore this migration is breaking.

create table channel_post (
  project_id text not null,
  channel_id text not null,
  post_id text not null, -- the ts of Slack
  posted_in text not null, -- the conversation in Slack
  request_id text not null,
  posted_at bigint not null,
  closed_at bigint, -- null: the message shows a pending request
  closed_by text, -- updated | gone
  primary key (project_id, channel_id, posted_in, post_id),
  foreign key (project_id, request_id) references request (project_id, id)
);

create index channel_post_open on channel_post (project_id, channel_id)
  where closed_at is null;
create index channel_post_request on channel_post (project_id, request_id);
