/**
 * Shared steps of tests about ended requests: many of them, and a reader of exports.
 */

import assert from "node:assert/strict";
import { authenticateRow } from "../../src/storage/sql/requests/request-rows.ts";
import type { Scene } from "./scene.ts";

/** More requests like this one, each decided a millisecond later. */
export async function copyDecided(
  { server }: Pick<Scene, "server">,
  id: string,
  count: number,
): Promise<void> {
  const { store, random } = server.provider.context;
  const row = await store.get("select * from request where id = $1", [id]);
  assert.ok(row);
  const columns = Object.keys(row);
  const perInsert = Math.min(50, count);
  await store.transact(async (tx) => {
    for (let from = 0; from < count; from += perInsert) {
      const copies = Array.from({ length: perInsert }, (_, i) => {
        const id = random.uuid();
        const decided_at = Number(row.decided_at) + from + i + 1;
        const copy = { ...row, id, key_hash: id, decided_at };
        return { ...copy, ...authenticateRow(store.integrity, copy) };
      });
      const values = copies.flatMap((copy) => columns.map((name) => copy[name as "id"]));
      const places = copies.map((_, i) => {
        return `(${columns.map((_, j) => `$${i * columns.length + j + 1}`).join(", ")})`;
      });
      await tx.run(
        `insert into request (${columns.join(", ")}) values ${places.join(", ")}`,
        values,
      );
    }
  });
}

/** As RFC 4180 says. */
export function parseCsv(text: string): string[][] {
  const records: string[][] = [[]];
  for (const [, cell = "", end] of text.matchAll(/"((?:[^"]|"")*)"(,|\r\n)/g)) {
    records.at(-1)?.push(cell.replaceAll('""', '"'));
    if (end === "\r\n") records.push([]);
  }
  return records.slice(0, -1);
}
