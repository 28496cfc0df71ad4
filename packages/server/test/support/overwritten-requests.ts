/** Rows of requests that an attacker with write access to the database changes. */

import { authenticateRow } from "../../src/storage/sql/requests/request-rows.ts";
import type { Row } from "../../src/storage/store.ts";
import { storeOf, tamper } from "./audit-logs.ts";
import type { Scene } from "./scene.ts";

export async function requestRow(scene: Pick<Scene, "server">, id: string): Promise<Row> {
  return (await storeOf(scene).get("select * from request where id = $1", [id])) ?? {};
}

/** Writes these columns as an insider with the secret key, who can authenticate the row. */
export async function overwriteRequest(
  scene: Pick<Scene, "server">,
  id: string,
  values: Row,
): Promise<void> {
  const row = { ...(await requestRow(scene, id)), ...values };
  const { mac, checksum } = authenticateRow(storeOf(scene).integrity, row);
  const written = { ...values, mac, checksum };
  const sets = Object.keys(written).map((name, i) => `${name} = $${i + 2}`);
  const sql = `update request set ${sets.join(", ")} where id = $1`;
  await tamper(scene, sql, id, ...Object.values(written));
}

/**
 * Adds a copy of a request without a MAC of its own.
 *
 * @param newId SQL, because an id can be more than a parameter can express
 * @returns removes the copy
 */
export async function copyRequest(
  scene: Pick<Scene, "server">,
  id: string,
  newId: string,
  changes: Row = {},
): Promise<() => Promise<void>> {
  const all = { ...changes, key_hash: "copy" };
  const same = Object.keys(await requestRow(scene, id)).filter(
    (name) => name !== "id" && !(name in all),
  );
  const names = ["id", ...Object.keys(all), ...same].join(", ");
  const places = Object.keys(all).map((_, i) => `$${i + 2}`);
  const values = [newId, ...places, ...same].join(", ");
  const sql = `insert into request (${names}) select ${values} from request where id = $1`;
  await tamper(scene, sql, id, ...Object.values(all));
  return () => tamper(scene, "delete from request where key_hash = 'copy'");
}
