/** Rows that tests write by themselves. */

import type { Row, Transaction } from "../../src/storage/store.ts";

export async function insertRow(tx: Transaction, table: string, row: Row): Promise<void> {
  const columns = Object.keys(row);
  const places = columns.map((_, i) => `$${i + 1}`).join(", ");
  const sql = `insert into ${table} (${columns.join(", ")}) values (${places})`;
  await tx.run(sql, Object.values(row));
}
