-- The full-text index of requests. The server fills it from the sealed audit log, so an import does
-- not copy it. Older programs purge requests and leave their words in the index of SQLite.
-- Therefore this migration is breaking.

create table search_document (
  project_id text not null,
  request_id text not null,
  document bigint not null, -- order of the results; in SQLite the rowid in search_words
  primary key (project_id, request_id),
  unique (project_id, document),
  foreign key (project_id, request_id) references request (project_id, id) on delete cascade
);

-- How much of the audit log of a project is indexed.
create table search_progress (
  project_id text not null primary key,
  position bigint not null -- of the first entry that is not indexed
);

-- The server splits texts into words, with spaces between them. Only spaces separate words here.
-- only for sqlite
create virtual table search_words using fts5(words, content='', contentless_delete=1, detail=none,
  tokenize="unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'");

-- only for postgres
alter table search_document add column words tsvector not null;

-- only for postgres
create index search_document_words on search_document using gin (words);
