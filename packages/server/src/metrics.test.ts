// Process: own
import assert from "node:assert/strict";
import perfHooks from "node:perf_hooks";
import { mock, test } from "node:test";
import { Metrics } from "./metrics.ts";

test("the process is measured once, however many providers it has", async () => {
  const measured = mock.method(perfHooks, "monitorEventLoopDelay");
  const [one, other] = [new Metrics(), new Metrics()];
  assert.equal(measured.mock.callCount(), 1);
  // Each sample wakes an idle process.
  assert.deepEqual(measured.mock.calls[0]?.arguments, [{ resolution: 100 }]);

  one.purged.inc(7);
  const scrapes = await Promise.all([one.text(), other.text()]);
  const [ofOne = "", ofOther = ""] = scrapes.map(({ text }) => text);
  assert.match(ofOne, /^countersign_rows_erased_total 7$/m);
  assert.match(ofOther, /^countersign_rows_erased_total 0$/m);
  for (const text of [ofOne, ofOther]) assert.match(text, /^nodejs_eventloop_lag_seconds \d/m);
});
