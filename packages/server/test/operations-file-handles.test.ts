// Needs: prlimit
/**
 * A server that has no file handle left: what it can do without a new one it does, all else is
 * refused so that it can be asked again, and it is well as soon as there are handles.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { Agent as HttpAgent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { type Agent, exchange, SUBMISSION } from "@countersign/testing/agents";
import type { Server } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { databaseEnvironment } from "./support/engine.ts";
import {
  NO_RATES,
  newNotifiedAgent,
  startWebhookServer,
  tryProvisioning,
} from "./support/webhook-server.ts";

/** From now on the running process can open nothing. @returns gives it back what it had */
function takeHandles({ process: { pid } }: Server): () => void {
  const limits = readFileSync(`/proc/${pid}/limits`, "utf8");
  const [, before] = /^Max open files +(\S+)/m.exec(limits) ?? [];
  const limit = (soft: string) =>
    execFileSync("prlimit", ["--pid", String(pid), `--nofile=${soft}:`]);
  // A new handle takes the lowest free number, which must be below the limit.
  const taken = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let free = 0;
  while (taken.has(free)) free++;
  limit(String(free));
  return () => void limit(String(before));
}

const CONNECTIONS = 16;

/** Connections that are open before the handles go. */
function keepConnections(t: TestContext): HttpAgent {
  const kept = new HttpAgent({ keepAlive: true, maxSockets: CONNECTIONS, scheduling: "fifo" });
  t.after(() => kept.destroy());
  return kept;
}

interface Submitted {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

async function over(
  kept: HttpAgent,
  url: string,
  options: { readonly method: string; readonly headers?: Record<string, string> },
  body?: string,
): Promise<Submitted> {
  const sent = request(url, { ...options, agent: kept }).end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  const retryAfter = response.headers["retry-after"];
  return { status: response.statusCode ?? 0, retryAfter, text };
}

function submitOver(
  kept: HttpAgent,
  server: Server,
  agent: Agent,
  key: string,
): Promise<Submitted> {
  const headers = {
    authorization: `Bearer ${agent.token}`,
    "content-type": "application/json",
    "idempotency-key": key,
  };
  const body = JSON.stringify({ ...SUBMISSION, arguments: { key } });
  return over(kept, `${server.url}/v1/requests`, { method: "POST", headers }, body);
}

/** The server cannot accept it; the runtime decides whether it waits or is closed at once. */
function knock(t: TestContext, { port }: Server): void {
  const socket = connect(Number(port), "127.0.0.1").on("error", () => {});
  t.after(() => void socket.destroy());
}

test("[ours.operations.file-handles] without file handles nothing is approved or lost, and with handles everything works again", async (t) => {
  const webhooks = await startWebhookServer(t, NO_RATES, await databaseEnvironment());
  const { server, provisioner, delivery, notifications } = webhooks;
  const agent = await newNotifiedAgent(webhooks);
  const kept = keepConnections(t);
  const all = Array.from({ length: CONNECTIONS }, (_, n) => `key ${n}`);
  await Promise.all(all.map(() => over(kept, `${server.url}/healthz`, { method: "GET" })));

  const release = takeHandles(server);
  for (let n = 0; n < CONNECTIONS; n++) knock(t, server);
  const answers = await Promise.all(all.map((key) => submitOver(kept, server, agent, key)));
  const post = { method: "POST", headers: { "content-type": "application/json" } };
  const key = randomUUID();
  const refused = await over(
    kept,
    `${server.url}/v1/instances`,
    {
      ...post,
      headers: { ...post.headers, authorization: `Bearer ${provisioner}`, "idempotency-key": key },
    },
    JSON.stringify({ delivery }),
  );
  release();

  for (const { status, retryAfter, text } of answers) {
    assert.ok(status === 201 || status === 503, text);
    if (status === 503) assert.match(retryAfter ?? "", /^[1-9]\d*$/);
    else assert.equal((JSON.parse(text) as ApprovalRequest).status, "pending");
  }
  // Its receiver can hardly be reached; then nothing was made, and the same key may try again.
  assert.ok([201, 422, 503].includes(refused.status), refused.text);
  const { status, text } = await tryProvisioning(server, provisioner, delivery, key);
  assert.equal(status, refused.status === 201 ? 200 : 201, text);
  for (const [n, { status, text }] of answers.entries()) {
    const again = await agent.post(`key ${n}`, { arguments: { key: `key ${n}` } });
    assert.equal(again.status, status === 201 ? 200 : 201, again.text);
    if (status === 201) assert.equal(again.text, text);
    await agent.cancel(again.json.id);
  }
  await eventually("a notification of each", () =>
    new Set(notifications.map(({ id }) => id)).size === all.length ? true : undefined,
  );
  assert.equal((await exchange("GET", `${server.url}/readyz`)).status, 200);
  await server.stop();
});
