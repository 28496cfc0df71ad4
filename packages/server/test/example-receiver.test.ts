/**
 * The receiver that we give away, as a process of its own: verified and notified by a real
 * provider over TLS, and sent by hand what no provider sends.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ProvisionInstanceResponse, RequestResolvedEvent } from "@countersign/protocol";
import { Child, temporaryFolder } from "@countersign/testing/child";
import { findFreePort } from "@countersign/testing/free-port";
import { Webhook } from "standardwebhooks";
import { createSelfSigned } from "./support/self-signed.ts";
import { startTestProvider, type TestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";
import { OTHER_SECRET, outbox, REGISTRATION_ID, SIGNING_SECRET } from "./support/webhook-scene.ts";

const RECEIVER = join(import.meta.dirname, "../../../examples/webhook-receiver/receiver.mjs");

const OTHER_REGISTRATION_ID = "9d6a5a5c-1f0e-4d3c-8a77-51d6f1f0aa01";
const REGISTRATIONS = { [REGISTRATION_ID]: SIGNING_SECRET, [OTHER_REGISTRATION_ID]: OTHER_SECRET };

const INSTANCE_ID = "01a1ff27-85c3-7a24-8d63-4999df43c30d";

const identity = createSelfSigned();

interface Example {
  readonly folder: string;
  readonly port: string;
  readonly process: Child;
}

async function startReceiver(t: TestContext, folder = temporaryFolder(t)): Promise<Example> {
  writeFileSync(join(folder, "tls-key.pem"), identity.key);
  writeFileSync(join(folder, "tls-cert.pem"), identity.certificate);
  writeFileSync(join(folder, "registrations.json"), JSON.stringify(REGISTRATIONS));
  const child = new Child(t, [process.execPath, RECEIVER, folder, "0"], { env: {} });
  const [, port = ""] = await child.prints("stdout", /^listening on port (\d+)\n/);
  return { folder, port, process: child };
}

interface Sent {
  readonly secret?: string;
  readonly secondsAgo?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Left out of the three that a webhook has. */
  readonly without?: string;
  /** Around the signature, in the same header. */
  readonly otherSignatures?: readonly [before: string, after: string];
}

interface Answered {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** Sends a message, by default signed now, with an independent signer. */
async function send(
  { port }: Pick<Example, "port">,
  message: object | string,
  { secret = SIGNING_SECRET, secondsAgo = 0, headers = {}, without = "", ...rest }: Sent = {},
): Promise<Answered> {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  const id = headers["webhook-id"] ?? String(typeof message === "string" ? "" : Object(message).id);
  const at = new Date(Date.now() - secondsAgo * 1000);
  const [before = "", after = ""] = rest.otherSignatures ?? [];
  const all: Record<string, string> = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": `${before}${new Webhook(secret).sign(id, at, body)}${after}`,
    ...headers,
  };
  delete all[without];
  const url = `https://localhost:${port}/hook`;
  const options = { method: "POST", headers: all, ca: identity.certificate, agent: false };
  const sent = request(url, options).end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks = await response.setEncoding("utf8").toArray();
  return { status: response.statusCode, headers: response.headers, text: chunks.join("") };
}

function verification(fields: object = {}): { readonly challenge: string } {
  const message = {
    id: randomUUID(),
    type: "webhook.verification",
    registration_id: REGISTRATION_ID,
    instance_id: INSTANCE_ID,
    created_at: "2026-11-21T17:31:03.083Z",
    challenge: randomUUID(),
  };
  return { ...message, ...fields };
}

function event(fields: object = {}): object {
  return {
    id: randomUUID(),
    type: "request.resolved",
    instance_id: INSTANCE_ID,
    request_id: randomUUID(),
    created_at: "2026-11-21T17:31:03.083Z",
    ...fields,
  };
}

/** A receiver under which {@link INSTANCE_ID} was verified. */
async function startVerified(t: TestContext): Promise<Example> {
  const example = await startReceiver(t);
  assert.equal((await send(example, verification())).status, 200);
  return example;
}

function kept({ folder }: Pick<Example, "folder">): { readonly id?: string }[] {
  const lines = readFileSync(join(folder, "messages.jsonl"), "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

async function provisionAt(server: TestProvider, { port }: Pick<Example, "port">): Promise<string> {
  const delivery = {
    type: "webhook",
    url: `https://localhost:${port}/hook`,
    registration_id: REGISTRATION_ID,
    signing_secret: SIGNING_SECRET,
  };
  const token = await server.token({ kind: "provisioner" });
  const call = { token, key: server.freshKey(), body: { delivery } };
  const answer = await server.call<ProvisionInstanceResponse>("POST", "/v1/instances", call);
  assert.equal(answer.status, 201, answer.text);
  return answer.json.credential.token;
}

test("the receiver is verified and notified by a provider and keeps the event once", async (t) => {
  const example = await startReceiver(t);
  const settings = { webhook_allow_cidrs: "127.0.0.0/8" };
  const server = await startTestProvider(t, { settings, ca: [identity.certificate] });
  const token = await provisionAt(server, example);
  const reviewer = await server.token({ kind: "reviewer" });
  const { id } = await server.submit(token);
  await server.decide(reviewer, id, "approve");

  const [printed] = await example.process.prints("stdout", /^\{.*"request\.resolved".*\}$/m);
  const notification = JSON.parse(printed) as RequestResolvedEvent;
  assert.equal(notification.request_id, id);
  assert.equal((await server.read(token, notification.request_id)).status, "approved");
  await until(async () => (await outbox({ server }))[0]?.ended_by === "acknowledged", "the end");

  assert.equal((await send(example, notification)).status, 204);
  const ids = kept(example).map((message) => message.id);
  assert.deepEqual(ids.slice(1), [notification.id]);
  assert.equal(example.process.stdout.split(notification.id).length, 2);
});

test("the receiver answers a challenge with it alone", async (t) => {
  const example = await startReceiver(t);
  const sent = verification();
  const { status, headers, text } = await send(example, sent);
  assert.deepEqual([status, headers["content-type"]], [200, "application/json"]);
  assert.deepEqual(JSON.parse(text), { challenge: sent.challenge });
});

test("the receiver remembers across a crash, also one in the midst of a line", async (t) => {
  const example = await startVerified(t);
  const before = event();
  assert.equal((await send(example, before)).status, 204);
  await example.process.end("SIGKILL");
  appendFileSync(join(example.folder, "messages.jsonl"), `\n{"id":"${randomUUID()}","ty`);

  const again = await startReceiver(t, example.folder);
  const after = event();
  for (const each of [before, after, after]) assert.equal((await send(again, each)).status, 204);
  assert.equal(again.process.stdout.match(/request\.resolved/g)?.length, 1);
  await again.process.end("SIGKILL");

  const last = await startReceiver(t, example.folder);
  for (const each of [before, after]) assert.equal((await send(last, each)).status, 204);
  assert.doesNotMatch(last.process.stdout, /request\.resolved/);
});

test("the receiver answers 401 to a signature that is not the registration's", async (t) => {
  const example = await startVerified(t);
  const [, sum = ""] = new Webhook(SIGNING_SECRET).sign("an-id", new Date(), "{}").split(",");
  const wrong: readonly Sent[] = [
    { secret: OTHER_SECRET },
    { without: "webhook-signature" },
    { headers: { "webhook-signature": "" } },
    { headers: { "webhook-signature": `v1,${sum}` } },
    { headers: { "webhook-signature": "v1," } },
    { headers: { "webhook-signature": `v1a,${sum} v2,${sum}` } },
  ];
  for (const each of wrong) {
    for (const message of [event(), verification()]) {
      assert.equal((await send(example, message, each)).status, 401, JSON.stringify(each));
    }
  }
  const elsewhere = event({ instance_id: randomUUID() });
  assert.equal((await send(example, elsewhere)).status, 401, "an instance that was not verified");
  assert.equal(kept(example).length, 1);
});

test("the receiver is content with one right signature among several", async (t) => {
  const example = await startVerified(t);
  const other = new Webhook(OTHER_SECRET).sign(INSTANCE_ID, new Date(), "{}");
  const otherSignatures = [`${other} v2,x `, " v1,"] as const;
  assert.equal((await send(example, event(), { otherSignatures })).status, 204);
});

test("the receiver answers 401 to a timestamp over five minutes away", async (t) => {
  const example = await startVerified(t);
  for (const secondsAgo of [310, -310, 86_400, Number.NaN]) {
    assert.equal((await send(example, event(), { secondsAgo })).status, 401, String(secondsAgo));
    assert.equal((await send(example, verification(), { secondsAgo })).status, 401);
  }
  for (const timestamp of ["", "soon", "1e9", "-1", "NaN", "Infinity"]) {
    const headers = { "webhook-timestamp": timestamp };
    assert.equal((await send(example, event(), { headers })).status, 401, timestamp);
  }
  assert.equal((await send(example, event(), { without: "webhook-timestamp" })).status, 401);
  assert.equal(kept(example).length, 1);
  for (const secondsAgo of [290, -290]) {
    assert.equal((await send(example, event(), { secondsAgo })).status, 204);
  }
});

test("the receiver answers 403 to a registration that it does not have", async (t) => {
  const example = await startReceiver(t);
  const unknown = verification({ registration_id: randomUUID() });
  assert.equal((await send(example, unknown)).status, 403);
  assert.deepEqual(kept(example), []);
});

test("the receiver knows every registration of an instance for as long as it has it", async (t) => {
  const example = await startVerified(t);
  const renewed = verification({ registration_id: OTHER_REGISTRATION_ID });
  const late = { secret: OTHER_SECRET };
  assert.equal((await send(example, event(), late)).status, 401);
  assert.equal((await send(example, renewed, late)).status, 200);
  assert.equal((await send(example, event(), late)).status, 204);
  assert.equal((await send(example, event())).status, 204);
  const file = join(example.folder, "registrations.json");
  writeFileSync(file, JSON.stringify({ [OTHER_REGISTRATION_ID]: OTHER_SECRET }));
  assert.equal((await send(example, event())).status, 401);
  assert.equal((await send(example, event(), late)).status, 204);
});

test("the receiver answers 400 to a message outside the contract", async (t) => {
  const example = await startVerified(t);
  const headers = { "webhook-id": INSTANCE_ID };
  const bodies = ["", "{", "null", "1", "[]", "{}", "x".repeat(20_000)];
  for (const body of bodies) {
    assert.equal((await send(example, body, { headers })).status, 400, body.slice(0, 9));
  }
  const large = JSON.stringify(event({ id: INSTANCE_ID })) + " ".repeat(20_000);
  assert.equal((await send(example, large, { headers })).status, 400);
  const malformed = [
    event({ type: "request.other" }),
    event({ request_id: undefined }),
    event({ instance_id: 7 }),
    verification({ challenge: "x" }),
    verification({ registration_id: null }),
  ];
  for (const message of malformed) assert.equal((await send(example, message)).status, 400);
  const other = { headers: { "webhook-id": randomUUID() } };
  assert.equal((await send(example, event(), other)).status, 400, "ids differ");
  assert.equal((await send(example, event(), { without: "webhook-id" })).status, 400);
  assert.equal(kept(example).length, 1);
});

test("the receiver acknowledges nothing that it cannot write down", async (t) => {
  const example = await startVerified(t);
  const journal = join(example.folder, "messages.jsonl");
  renameSync(journal, `${journal}.away`);
  mkdirSync(journal);
  const sent = event();
  const { status, headers } = await send(example, sent);
  assert.deepEqual([status, headers["retry-after"]], [503, "5"]);
  rmdirSync(journal);
  renameSync(`${journal}.away`, journal);
  assert.equal((await send(example, sent)).status, 204);
  assert.equal(kept(example).length, 2);
});

test("the receiver in thirty lines is verified and notified by a provider too", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "key.pem"), identity.key);
  writeFileSync(join(folder, "cert.pem"), identity.certificate);
  const port = String(await findFreePort());
  const env = { REGISTRATION_ID, SIGNING_SECRET, TLS_CERT: "cert.pem", TLS_KEY: "key.pem" };
  const command = [process.execPath, join(RECEIVER, "../thirty-lines.mjs")];
  new Child(t, command, { env: { ...env, PORT: port }, cwd: folder });
  const refused = { secret: OTHER_SECRET };
  await until(
    () => send({ port }, verification(), refused).then(isUnauthorized, isDown),
    "it is up",
  );
  const other = verification({ registration_id: OTHER_REGISTRATION_ID });
  assert.equal((await send({ port }, other)).status, 403);
  assert.equal((await send({ port }, event(), { secondsAgo: 301 })).status, 401);

  const settings = { webhook_allow_cidrs: "127.0.0.0/8" };
  const server = await startTestProvider(t, { settings, ca: [identity.certificate] });
  const { id } = await server.submit(await provisionAt(server, { port }));
  await server.decide(await server.token({ kind: "reviewer" }), id, "deny");
  await until(async () => (await outbox({ server }))[0]?.ended_by === "acknowledged", "the end");
  const kept = JSON.parse(readFileSync(join(folder, "events.jsonl"), "utf8"));
  assert.equal(kept.request_id, id);
});

function isUnauthorized({ status }: Answered): boolean {
  return status === 401;
}

function isDown(): boolean {
  return false;
}
