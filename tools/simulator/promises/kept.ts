/** Checks that acknowledged writes are kept for the promised time. */

import type { Row } from "../../../packages/server/src/storage/store.ts";
import type { Promised } from "../facts.ts";
import { requestIn } from "./final.ts";

const HOUR_MS = 3_600_000;
const KEPT_MS = 168 * HOUR_MS;
const KEPT_AFTER_DELIVERY_MS = 24 * HOUR_MS;

export const KEPT: Promised = {
  id: "I11",
  says: "Every answered result is committed, and stored for as long as the contract requires.",

  onAnswer({ world, snapshot }, { call, answer: { status, text } }) {
    const request = requestIn(status, text);
    if (request !== undefined) {
      const stored = snapshot.get("request", request.id);
      world.assert(
        stored !== undefined,
        "I11",
        () => `${request.id} was acknowledged and is not stored`,
      );
      const isSame = request.status === "pending" || stored?.status === request.status;
      world.assert(isSame, "I11", () => `${request.id} was answered as ${request.status}`);
    }
    if (call.kind === "delete" && status === 204) {
      const deleted = snapshot.get("instance", call.id);
      const isDeleted = deleted === undefined || deleted.deleted_at !== null;
      world.assert(isDeleted, "I11", () => `${call.id} was acknowledged as deleted`);
    }
    if (call.kind === "provision" && (status === 201 || status === 200)) {
      const { instance } = JSON.parse(text) as { instance: { id: string } };
      const isThere = snapshot.get("instance", instance.id) !== undefined;
      world.assert(isThere, "I11", () => `${instance.id} was acknowledged and is not stored`);
    }
  },

  onCommit({ world }, { changes, lastAt }) {
    for (const { table, key, before, after } of changes) {
      if (before === undefined || after !== undefined) continue;
      const mayGo = mayBePurged(table, before, lastAt);
      world.assert(mayGo, "I11", () => `the ${table} ${key} was purged too early`);
    }
  },
};

/** Of the row itself; that of a notification goes with its request. */
function mayBePurged(table: string, row: Row, now: number): boolean {
  if (table === "receiver") return true;
  if (table === "instance") return row.deleted_at !== null && now - age(row.deleted_at) >= KEPT_MS;
  if (table === "credential") return row.revoked_at !== null;
  if (table === "notification") {
    return row.ended_at !== null && now - age(row.ended_at) >= KEPT_AFTER_DELIVERY_MS;
  }
  if (table === "call_freeze") return row.lifted_at !== null;
  if (table !== "request" || row.decided_at === null) return false;
  return now - age(row.decided_at) >= KEPT_MS;
}

function age(at: Row[string] | undefined): number {
  return Number(at);
}
