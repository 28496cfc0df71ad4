// Process: own
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { startOtlpReceiver } from "../../server/test/support/otlp-receiver.ts";
import { SUBMISSION, startTestProvider } from "../../server/test/support/test-provider.ts";

/** The packages of OpenTelemetry are CommonJS, so this cache has those that were loaded. */
function isSdkLoaded(): boolean {
  const { cache } = createRequire(import.meta.url);
  return Object.keys(cache).some((file) => file.includes("@opentelemetry/sdk-trace"));
}

test("[ours.telemetry.off] a server without the setting loads no package of OpenTelemetry, stores no trace and sends nothing", async (t) => {
  const receiver = await startOtlpReceiver(t);
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = receiver.url;
  const off = await startTestProvider(t);
  const { token } = await off.instance();
  const headers = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
  const call = { token, key: "a", headers, body: SUBMISSION };
  assert.equal((await off.call("POST", "/v1/requests", call)).status, 201);
  const rows = await off.provider.context.store.all("select traceparent from request");
  assert.deepEqual(
    rows.map(({ traceparent }) => traceparent),
    [null],
  );
  await off.stop();
  assert.equal(receiver.exports, 0);
  assert.equal(isSdkLoaded(), false);

  // The setting loads it, so the assertions above can fail.
  const on = await startTestProvider(t, { settings: { telemetry: "otlp" } });
  await on.stop();
  assert.equal(isSdkLoaded(), true);
  assert.ok(receiver.exports > 0, "the last export at the stop");
});
