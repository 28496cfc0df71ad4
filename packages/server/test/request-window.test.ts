import assert from "node:assert/strict";
import { after, test } from "node:test";
import { end, startScene, TERMINAL } from "./support/scene.ts";

const HOUR = 3_600_000;

const scene = await startScene({ after }, { settings: { window_max: "48h" } });
const { server, instance } = scene;

/** The window in milliseconds that the server accepted for a timeout. */
async function accepted(timeout: string): Promise<number> {
  const request = await server.submit(instance.token, { timeout });
  assert.equal(request.timeout, timeout);
  return Date.parse(request.deadline_at) - Date.parse(request.created_at);
}

test("[request.deadline.window] the accepted window is the requested one, up to the maximum", async () => {
  assert.equal(await accepted("1s"), 1_000);
  assert.equal(await accepted("90s"), 90_000);
  assert.equal(await accepted("2m"), 120_000);
  assert.equal(await accepted("48h"), 48 * HOUR);
  assert.equal(await accepted("172799s"), 48 * HOUR - 1_000);
});

test("[ours.limit.deadline.maximum] a longer window is shortened to the maximum, a shorter one never lengthened", async () => {
  assert.equal(await accepted("49h"), 48 * HOUR);
  assert.equal(await accepted("172801s"), 48 * HOUR);
  assert.equal(await accepted("1s"), 1_000);
});

test("[ours.limit.duration.huge] a timeout of any number of digits is accepted and shortened", async () => {
  for (const digits of [16, 20, 309, 310, 1_000, 100_000]) {
    for (const unit of ["s", "m", "h"]) {
      assert.equal(await accepted("9".repeat(digits) + unit), 48 * HOUR);
    }
  }
});

test("[ours.limit.duration.huge] a wait of any number of digits is accepted", async () => {
  const request = await server.submit(instance.token);
  await end(scene, request, "denied");
  for (const digits of [16, 400, 8_000]) {
    const read = await server.read(instance.token, request.id, `?wait=${"9".repeat(digits)}h`);
    assert.equal(read.status, "denied");
  }
});

test("[request.timeout.as-submitted] a read returns the submitted timeout in every state", async () => {
  const timeouts = ["60s", "1m", "3600s", "9000h"];
  for (const [i, status] of TERMINAL.entries()) {
    const timeout = timeouts[i] ?? "60s";
    const request = await server.submit(instance.token, { timeout });
    assert.equal((await server.read(instance.token, request.id)).timeout, timeout);
    assert.equal((await end(scene, request, status)).timeout, timeout);
  }
});

test("[request.deadline.window] another maximum holds for another server", async (t) => {
  const short = await startScene(t, { settings: { window_max: "10s" } });
  const request = await short.server.submit(short.instance.token, { timeout: "1h" });
  assert.equal(Date.parse(request.deadline_at), short.clock.now() + 10_000);
  assert.equal(request.timeout, "1h");
});
