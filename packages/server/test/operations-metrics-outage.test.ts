/**
 * The answers of /metrics while its store is unavailable.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { startUnavailable } from "./support/failing-providers.ts";

test("[ours.operations.metrics-outage] when the store fails, its gauges are omitted and all other metrics are answered", async (t) => {
  const { server } = await startUnavailable(t);

  const { status, text } = await server.call("GET", "/metrics");

  assert.equal(status, 200);
  assert.match(text, /^countersign_store_scrape_success 0$/m);
  assert.doesNotMatch(text, /^countersign_(requests_pending|deliveries_waiting) /m);
  assert.match(text, /^countersign_failures_total\{dependency="store"\} [1-9]/m);
  assert.match(text, /^countersign_polls_held 0$/m);
  assert.match(text, /^countersign_requests_created_total 1$/m);
});
