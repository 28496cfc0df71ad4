import assert from "node:assert/strict";
import { test } from "node:test";
import { startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { startOtlpReceiver } from "../../server/test/support/otlp-receiver.ts";
import { until } from "../../server/test/support/until.ts";
import { connectGateway, Fickle, PATIENT } from "./support/gateway-scene.ts";

const owner = fileOwner();

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";

test("[ours.telemetry.propagation] the request of a tools/call belongs to the trace in its _meta, and an invalid one is ignored", async (t) => {
  const receiver = await startOtlpReceiver(t);
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = receiver.url;
  process.env.OTEL_BSP_SCHEDULE_DELAY = "5";
  const scene = await startAgentScene(t, { settings: { telemetry: "otlp" } });
  const fickle = new Fickle(temporaryFolder(owner));
  const { client } = await connectGateway(owner, scene, { fickle: fickle.config });
  for (const traceparent of [`00-${TRACE_ID}-b7ad6b7169203331-01`, "invalid\r\nx-header: 1"]) {
    const params = { name: "pay", arguments: {}, _meta: { traceparent } };
    const paying = client.callTool(params, undefined, PATIENT);
    await scene.decideNext("approve");
    assert.notEqual((await paying).isError, true);
  }
  await until(() => receiver.named("countersign.create").length === 2, "both spans arrive");
  const [first, second] = receiver.named("countersign.create");
  assert.equal(first?.traceId, TRACE_ID);
  assert.notEqual(second?.traceId, TRACE_ID);
});
