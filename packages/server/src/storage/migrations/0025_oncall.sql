-- On-call schedules, which steps of an escalation name. Older programs do not know steps to a
-- schedule, and do not rotate the encrypted column. Therefore this migration is breaking.

create table oncall_schedule (
  project_id text not null,
  id text not null,
  name text not null,
  kind text not null, -- static | ical | pagerduty | opsgenie
  encrypted_source text not null,
  people text not null, -- names of reviewers by the ids of the source, as JSON
  next_at bigint, -- of the next fetch; null: nothing is fetched
  fetched_at bigint, -- of the last successful fetch
  shifts text not null, -- of that fetch, as JSON
  failure text, -- of the last fetch; null: it succeeded
  created_at bigint not null,
  primary key (project_id, id),
  unique (project_id, name)
);
