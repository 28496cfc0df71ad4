/** The order of entries in an archive: an entry that was committed late has a later position. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { uuidV7 } from "@countersign/protocol";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { openTestContext } from "../../test/support/test-context.ts";
import type { EntryContent } from "../core/audit-line.ts";
import { ArchivedApprovals } from "./archived-approvals.ts";

interface Archived {
  readonly opened: (quorum: number) => EntryContent;
  /** One second after the opening. */
  readonly vote: EntryContent;
  /** Two seconds after the opening, by another reviewer. */
  readonly approval: EntryContent;
  /** Reads entries in this order. @throws FindingError */
  readonly verify: (entries: readonly EntryContent[]) => Promise<void>;
}

/** Entries of one request. The database has none of them. */
async function startArchived(t: TestContext): Promise<Archived> {
  const { store, random, clock } = await openTestContext(t, new ManualClock());
  const openedAt = clock.now();
  const newId = (at: number) => uuidV7(at, random.bytes(10));
  const subject = `request:${newId(openedAt)}`;
  const entry = (afterMs: number, rest: Pick<EntryContent, "kind" | "actor" | "detail">) => {
    const at = openedAt + afterMs;
    return { id: newId(at), at, subject, ...rest };
  };
  return {
    opened: (quorum) => {
      const detail = { requirement: { confirm: "click", quorum } };
      return entry(0, { kind: "request.opened", actor: "instance:i", detail });
    },
    vote: entry(1_000, { kind: "vote.cast", actor: "reviewer:ana", detail: {} }),
    approval: entry(2_000, {
      kind: "request.resolved",
      actor: "reviewer:bob",
      detail: { status: "approved" },
    }),
    verify: async (entries) => {
      const approvals = new ArchivedApprovals(store, "p", new Set());
      for (const [position, each] of entries.entries()) await approvals.add(position, each);
      await approvals.end();
    },
  };
}

function ordersOf<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) =>
    ordersOf(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
  );
}

test("[ours.audit-archive.verify] the votes of an archived approval count in any order of its entries", async (t) => {
  const { opened, vote, approval, verify } = await startArchived(t);
  for (const entries of ordersOf([opened(2), vote, approval])) await verify(entries);
  for (const entries of ordersOf([opened(3), vote, approval])) {
    const message = /required 3 approvals, and the log has 2/;
    await assert.rejects(verify(entries), message);
  }
});

test("[ours.audit-archive.verify] a second opening with a lower quorum is found", async (t) => {
  const { opened, approval, verify } = await startArchived(t);
  const message = /its request was opened before/;
  await assert.rejects(verify([opened(2), opened(1), approval]), message);
});
