import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ManualClock } from "../../test/support/manual-clock.ts";
import type { Context } from "../context.ts";
import { Report } from "../report.ts";
import { LocalWake } from "../wake/local-wake.ts";
import { startResolutionPoll } from "./resolution-poll.ts";

const KEPT = "0198f3a0-0000-7000-8000-000000000001";
const HINTED = "0198f3a0-0000-7000-8000-000000000002";

test("[ours.replicas.not-notified] named requests that never cease do not delay the check of all, once a second", async (t) => {
  const clock = new ManualClock();
  const wake = new LocalWake();
  t.after(wake.onResolved(KEPT, "p", () => {}));
  /** Completes the query that is under way. */
  let end = () => {};
  const reads: (readonly unknown[])[] = [];
  const all = (_: string, values: readonly unknown[] = []) => {
    reads.push(values.filter((value) => value !== null));
    return new Promise<[]>((resolve) => {
      end = () => resolve([]);
    });
  };
  const store = { all } as unknown as Context["store"];
  const context = { clock, wake, store } as unknown as Context;
  const worker = startResolutionPoll(context, new Report("silent"));
  const checkAfterHint = async () => {
    worker.check([HINTED]);
    end();
    await nextTurn();
  };
  for (let second = 1; second <= 3; second++) {
    reads.length = 0;
    clock.advance(1_000);
    for (let i = 0; i < 10; i++) await checkAfterHint();
    assert.ok(reads.flat().includes(KEPT), `second ${second}`);
  }
  const stopped = worker.stop();
  end();
  await nextTurn();
  end();
  await stopped;
});
