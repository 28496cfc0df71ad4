/** The command that searches requests by full text. */

import { EXIT, type FixedColumn, renderTableOf } from "@countersign/command-line";
import type { FoundRequest } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { collect } from "../reviewer-api.ts";
import { printRows, ROW_LIMIT } from "../row-list.ts";

export const requestsSearch: Command = {
  usage: "requests search WORDS",
  help: "Search requests by tool, arguments, notes and names.",
  example: "requests search 'stripe refund*'",
  settings: ["client"],
  options: { limit: ROW_LIMIT.option },

  async run(line, terminal) {
    const [q = ""] = line.take("the text to search for");
    const limit = ROW_LIMIT.read(line);
    const api = connectApi(line);
    const { items, hasMore } = await collect(
      limit,
      (limit, after) => api.call("GET /search", { query: { q, limit, after } }),
      (page) => page.requests,
    );
    printRows(line, terminal, {
      json: items.map((found) => JSON.stringify(found)),
      empty: "No requests match. End a word with * to match words that start with it.",
      renderTable: () => renderFound(items, terminal.columns),
      limit,
      hasMore,
    });
    return EXIT.done;
  },
};

const COLUMNS: readonly FixedColumn[] = [
  { head: "REQUEST", width: 36 },
  { head: "STATUS", width: 9 },
  { head: "TOOL", width: 20 },
  { head: "FIELD", width: 9 },
  { head: "MATCH", width: 20 },
];

/** @param columns width of the terminal; the first match fills what the other columns leave */
function renderFound(requests: readonly FoundRequest[], columns: number): string {
  const rows = requests.map(({ id, status, tool, matches: [match] }) => {
    const text = match?.excerpt.map((piece) => piece.text).join("") ?? "";
    return [id, status, tool, match?.field ?? "", text];
  });
  return renderTableOf(COLUMNS, rows, columns);
}
