/**
 * The client address that limits and logs use, behind proxies and without them.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ConfigError, Report, readConfig, toSettings } from "../src/index.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { type Answer, startTestProvider, type TestProvider } from "./support/test-provider.ts";

/** Exchanges without a valid credential that one address may send at once. */
const BURST = 4;

interface Scene {
  readonly server: TestProvider;
  readonly lines: string[];
}

async function start(t: TestContext, trustedProxies: string): Promise<Scene> {
  const lines: string[] = [];
  const server = await startTestProvider(t, {
    clock: new ManualClock(),
    settings: {
      unauthenticated_rate: String(BURST / 2),
      trusted_proxies: trustedProxies,
    },
    report: new Report("info", { write: (line: string) => void lines.push(line) }),
  });
  return { server, lines };
}

/** An exchange without a credential that came through proxies. */
function strange({ server }: Scene, forwardedFor: string): Promise<Answer> {
  const headers = { "x-forwarded-for": forwardedFor };
  return server.call("GET", "/v1/requests/no-identifier", { headers });
}

async function statuses(scene: Scene, forwardedFor: readonly string[]): Promise<number[]> {
  const answers: number[] = [];
  for (const each of forwardedFor) answers.push((await strange(scene, each)).status);
  return answers;
}

const spoofed = (client: string) =>
  Array.from({ length: BURST }, (_, n) => `192.0.2.${n}, ${client}`);

test("[ours.limit.client-address] behind a trusted proxy, each client has its own limit, for any forged X-Forwarded-For prefix", async (t) => {
  const scene = await start(t, "127.0.0.0/8, 10.1.0.0/16");
  const one = "198.51.100.7";
  assert.deepEqual(await statuses(scene, spoofed(one)), Array(BURST).fill(401));
  assert.deepEqual(await statuses(scene, [one, `${one}, 10.1.2.3`]), [429, 429]);
  assert.deepEqual(await statuses(scene, ["198.51.100.8", `${one}, 203.0.113.5`]), [401, 401]);
});

for (const [trusted, name] of [
  ["", "no trusted proxy"],
  ["10.1.0.0/16", "a proxy that is not trusted"],
] as const) {
  test(`[ours.limit.client-address] with ${name}, X-Forwarded-For changes nothing`, async (t) => {
    const scene = await start(t, trusted);
    assert.deepEqual(await statuses(scene, spoofed("198.51.100.7")), Array(BURST).fill(401));
    assert.deepEqual(await statuses(scene, ["198.51.100.8"]), [429]);
  });
}

test("[ours.limit.client-address] the log names the client behind a trusted proxy, and no address without the setting", async (t) => {
  const behind = await start(t, "127.0.0.0/8");
  await strange(behind, "198.51.100.7");
  const [line = "{}"] = behind.lines.filter((each) => each.includes("exchange.ended"));
  assert.equal(JSON.parse(line).client_address, "198.51.100.7");
  const without = await start(t, "");
  await strange(without, "198.51.100.7");
  assert.doesNotMatch(without.lines.join(""), /client_address|198\.51\.100\.7|127\.0\.0\.1/);
});

test("[ours.limit.client-address] invalid tokens from an address stop no sign-in from there", async (t) => {
  const scene = await start(t, "");
  for (let n = 0; n < 2 * BURST; n++) await strange(scene, "");
  assert.equal((await strange(scene, "")).status, 429);
  const signIn = await scene.server.call("POST", "/review/v1/session", {
    headers: { "sec-fetch-site": "same-origin" },
    body: { login: "ana", password: "not the password" },
  });
  assert.equal(signIn.status, 401, signIn.text);
});

for (const network of ["everything", "10.1.0.0", "10.1.0.0/33", "0.0.0.0/0", "::/0"]) {
  test(`[ours.limit.client-address] the server rejects ${network} as a trusted proxy`, () => {
    const read = () => toSettings(readConfig({ trusted_proxies: `10.0.0.0/8,${network}` }, {}));
    assert.throws(read, (error) => {
      assert.ok(error instanceof ConfigError);
      const rule = `trusted_proxies: ${network} must be a network like 10.1.0.0/16 or 192.0.2.7/32`;
      assert.equal(error.message, rule);
      return true;
    });
  });
}
