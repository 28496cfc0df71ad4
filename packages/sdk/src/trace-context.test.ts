import assert from "node:assert/strict";
import { test } from "node:test";
import { activeTraceparent, validTraceparent } from "./trace-context.ts";

const VALID = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test("a text that is not a traceparent of version 00 is ignored", () => {
  assert.equal(validTraceparent(VALID), VALID);
  const invalid = [undefined, 7, "", `${VALID}\n`, `${VALID}-x`, VALID.toUpperCase(), `01${VALID}`];
  for (const text of invalid) assert.equal(validTraceparent(text), undefined);
});

test("[ours.telemetry.propagation] without OpenTelemetry in the process, there is no active span", () => {
  assert.equal(activeTraceparent(), undefined);
});
