/**
 * The full-text index in SQLite: an FTS5 table without contents. Its words have no project, so each
 * document also has a word for its project, which no text contains.
 */

import type { IndexTerm } from "../../core/search-words.ts";
import {
  type IndexWriter,
  projectWord,
  type SearchedDocument,
  type SearchIndex,
} from "../search-index.ts";
import type { RowKey } from "../sql/keys.ts";

/** A row if there is the request, with its document if there is one. */
const READ_REQUEST = `select document
  from request
    left join search_document on search_document.project_id = request.project_id
      and search_document.request_id = request.id
  where request.project_id = $1 and request.id = $2`;

const READ_DOCUMENT =
  "select document from search_document where project_id = $1 and request_id = $2";

const FIND = `select search_document.document, search_document.request_id
  from search_words
    join search_document on search_document.project_id = $1
      and search_document.document = search_words.rowid
  where search_words match $2 and search_words.rowid < $3
  order by search_words.rowid desc limit $4`;

export const SQLITE_SEARCH: SearchIndex = {
  engine: "sqlite",

  async put(tx, documents) {
    for (const document of documents) await putDocument(tx, document);
  },

  async remove(tx, key) {
    const document = await readDocument(tx, key);
    if (document === undefined) return;
    await tx.run("delete from search_words where rowid = $1", [document]);
    await tx.run("delete from search_document where project_id = $1 and request_id = $2", [
      key.projectId,
      key.id,
    ]);
  },

  async find(reader, { projectId, terms, before, limit }) {
    const match = [quoted(projectWord(projectId)), ...terms.map(toMatch)].join(" AND ");
    const rows = await reader.all(FIND, [projectId, match, before, limit]);
    return rows.map((row) => ({
      document: Number(row.document),
      requestId: String(row.request_id),
    }));
  },
};

async function putDocument(tx: IndexWriter, { words, ...key }: SearchedDocument): Promise<void> {
  const request = await tx.get(READ_REQUEST, [key.projectId, key.id]);
  if (request === undefined) return;
  const text = [projectWord(key.projectId), ...words].join(" ");
  const { document = null } = request;
  if (document !== null) {
    await tx.run("delete from search_words where rowid = $1", [document]);
    await tx.run("insert into search_words (rowid, words) values ($1, $2)", [document, text]);
    return;
  }
  await tx.run("insert into search_words (words) values ($1)", [text]);
  await tx.run(
    `insert into search_document (project_id, request_id, document)
     values ($1, $2, last_insert_rowid())`,
    [key.projectId, key.id],
  );
}

async function readDocument(tx: IndexWriter, { projectId, id }: RowKey) {
  const row = await tx.get(READ_DOCUMENT, [projectId, id]);
  return row === undefined ? undefined : Number(row.document);
}

function toMatch({ word, isPrefix }: IndexTerm): string {
  return quoted(word) + (isPrefix ? "*" : "");
}

function quoted(word: string): string {
  return `"${word.replaceAll('"', '""')}"`;
}
