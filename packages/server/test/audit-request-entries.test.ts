/**
 * All entries of one request are found, however many other entries lie between them.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { uuidV7 } from "@countersign/protocol";
import { type AuditEntry, type AuditKind, appendAudit } from "../src/audit/append-audit.ts";
import { findEntriesOfRequest } from "../src/audit/prove-entries.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { openTestContext } from "./support/test-context.ts";

const DAY_MS = 24 * 3_600_000;

/** More than is read at a time. */
const OTHERS = 2_100;

test("[ours.audit.proof] entries of a request long after its delivery or its opening are found", async (t) => {
  const context = await openTestContext(t, new ManualClock());
  const { store, random, clock } = context;
  const openedAt = clock.now();
  const find = async (id: string) =>
    (await findEntriesOfRequest(store, "p", id)).map(({ kind }) => kind);
  const insertEntry = (id: string, kinds: readonly (readonly [AuditKind, number, object?])[]) =>
    store.transact(async (tx) => {
      for (const [kind, afterMs, detail] of kinds) {
        const rest = { actor: "system:audit", subject: `request:${id}`, detail } as const;
        await appendAudit(tx, random, {
          at: openedAt + afterMs,
          projectId: "p",
          kind,
          ...(rest as Pick<AuditEntry, "actor" | "subject" | "detail">),
        });
      }
    });
  const others = (afterMs: number) =>
    insertEntry(
      "another",
      Array.from({ length: OTHERS }, () => ["vote.cast", afterMs] as const),
    );
  const newId = () => uuidV7(openedAt, random.bytes(10));
  const [used, late] = [newId(), newId()];
  const expires_at = openedAt + 60_000;
  await insertEntry(used, [
    ["request.opened", 0],
    ["request.resolved", 1_000, { status: "approved", expires_at }],
    ["delivery.ended", 1_100],
    ["approval.consumed", 30_000],
    ["outcome.reported", 2 * DAY_MS],
  ]);
  // No server was running when its window passed.
  await insertEntry(late, [
    ["request.opened", 0],
    ["request.resolved", 30 * DAY_MS, { status: "expired", expires_at: null }],
    ["delivery.ended", 30 * DAY_MS + 100],
  ]);
  for (const afterMs of [2_000, DAY_MS, 20 * DAY_MS]) await others(afterMs);
  assert.deepEqual(await find(used), [
    "request.opened",
    "request.resolved",
    "delivery.ended",
    "approval.consumed",
    "outcome.reported",
  ]);
  assert.deepEqual(await find(late), ["request.opened", "request.resolved", "delivery.ended"]);
});
