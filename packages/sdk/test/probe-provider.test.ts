/** The check of a URL and a credential, with the real provider. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { probeProvider } from "@countersign/sdk";
import { startAgentScene } from "@countersign/testing/agent-scene";
import { startMisbehavingProvider } from "@countersign/testing/misbehaving-provider";

test("[ours.sdk.client.probe] a probe distinguishes a valid credential, a wrong one, and a URL without a provider", async (t) => {
  const { url, token } = await startAgentScene(t);
  const works = await probeProvider(url, token);
  assert.equal(works.kind, "works", works.text);
  assert.ok(Math.abs(works.aheadMs ?? Number.NaN) < 5_000, String(works.aheadMs));
  assert.equal((await probeProvider(url, "wrong")).kind, "refused");
  const elsewhere = await probeProvider(`${url}/wrong`, "wrong");
  assert.equal(elsewhere.kind, "unreachable");
  assert.match(elsewhere.text, /Check the base URL/);
  assert.equal((await probeProvider("http://127.0.0.1:9", token)).kind, "unreachable");
});

test("[ours.sdk.client.probe] a failure while the URL is checked is reported, and not blamed on the URL", async (t) => {
  let reads = 0;
  const provider = await startMisbehavingProvider(t, ({ response }) => {
    response.writeHead(reads++ === 0 ? 404 : 503).end();
    return undefined;
  });
  const { kind, text } = await probeProvider(provider.url, "t0ken");
  assert.equal(kind, "unreachable");
  assert.match(text, /503/);
});
