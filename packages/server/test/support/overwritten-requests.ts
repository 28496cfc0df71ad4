/** Rows of requests that an insider with the secret key changes. */

import { authenticateRow } from "../../src/storage/sql/requests/request-rows.ts";
import type { Row } from "../../src/storage/store.ts";
import { storeOf, tamper } from "./audit-logs.ts";
import type { Scene } from "./scene.ts";

const CHANGED = [
  "instance_id",
  "created_at",
  "status",
  "decided_at",
  "expires_at",
  "decided_by",
  "note",
  "tool",
  "arguments",
];

export async function requestRow(scene: Scene, id: string): Promise<Row> {
  return (await storeOf(scene).get("select * from request where id = $1", [id])) ?? {};
}

/** Writes these columns, with the MAC of the row that results. */
export async function overwriteRequest(scene: Scene, id: string, values: Row): Promise<void> {
  const row = { ...(await requestRow(scene, id)), ...values };
  const { mac } = authenticateRow(storeOf(scene).integrity, row);
  const names = CHANGED.map((name, i) => `${name} = $${i + 2}`).join(", ");
  const written = CHANGED.map((name) => row[name] ?? null);
  await tamper(
    scene,
    `update request set ${names}, mac = $${CHANGED.length + 2} where id = $1`,
    id,
    ...written,
    mac,
  );
}
