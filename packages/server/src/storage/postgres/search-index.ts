/** The full-text index in PostgreSQL: a tsvector without positions, in a GIN index. */

import type { IndexTerm } from "../../core/search-words.ts";
import { projectWord, type SearchIndex } from "../search-index.ts";

/** Waits for a purge of the request that is under way, and then writes nothing. */
const PUT = `insert into search_document (project_id, request_id, document, words)
  select project_id, id,
    (select coalesce(max(document), 0) + 1 from search_document where project_id = $1),
    $3::tsvector
  from request where project_id = $1 and id = $2 for key share
  on conflict (project_id, request_id) do update set words = excluded.words`;

const FIND = `select document, request_id from search_document
  where project_id = $1 and words @@ $2::tsquery and document < $3
  order by document desc limit $4`;

export const POSTGRES_SEARCH: SearchIndex = {
  engine: "postgres",

  async put(tx, documents) {
    // In one message: a later statement sees the number of an earlier document.
    const running = documents.map(({ projectId, id, words }) => {
      const all = [projectWord(projectId), ...words].map(quoted).join(" ");
      return tx.run(PUT, [projectId, id, all]);
    });
    await Promise.all(running);
  },

  async remove(tx, { projectId, id }) {
    await tx.run("delete from search_document where project_id = $1 and request_id = $2", [
      projectId,
      id,
    ]);
  },

  async find(reader, { projectId, terms, before, limit }) {
    const query = [quoted(projectWord(projectId)), ...terms.map(toQuery)].join(" & ");
    const rows = await reader.all(FIND, [projectId, query, before, limit]);
    return rows.map((row) => ({
      document: Number(row.document),
      requestId: String(row.request_id),
    }));
  },
};

function toQuery({ word, isPrefix }: IndexTerm): string {
  return quoted(word) + (isPrefix ? ":*" : "");
}

/** A lexeme, in the syntax of tsvector and tsquery. */
function quoted(word: string): string {
  return `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
