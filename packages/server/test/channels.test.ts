/**
 * Channels on the reviewer surface: who may change them, what is shown of them, and where they may
 * not lead.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { Webhook } from "standardwebhooks";
import { Report } from "../src/index.ts";
import {
  type Channel,
  channelOf,
  newChannel,
  startChannelScene,
  textOf,
  tryChannel,
  untilEnded,
  untilNotified,
} from "./support/channel-scene.ts";
import { auditOf } from "./support/scene.ts";
import { projectPath } from "./support/test-projects.ts";
import { startTestProvider } from "./support/test-provider.ts";
import { OTHER_SECRET, SIGNING_SECRET } from "./support/webhook-scene.ts";

const CHANNELS = "/review/v1/channels";

interface TestAnswer {
  readonly outcome: string;
  readonly status?: number;
  readonly message: string;
}

test("[ours.notify.webhook] a generic webhook is signed as every other and says what waits", async (t) => {
  const scene = await startChannelScene(t);
  const { server, instance, receiver } = scene;
  const made = await newChannel(scene, "hook", { kind: "webhook" });
  const secret = made.signing_secret ?? "";
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const tool = "dépl\u202Eoy";
  const request = await server.submit(instance.token, {
    tool,
    arguments: { key: "the arguments" },
  });
  await untilEnded(scene);
  const [message] = receiver.requests;
  assert.ok(message);
  const body = message.body.toString();
  // That library uses the clock of this machine: the test compares the signature, not the time.
  const id = String(message.headers["webhook-id"]);
  const at = new Date(Number(message.headers["webhook-timestamp"]) * 1000);
  assert.equal(message.headers["webhook-signature"], new Webhook(secret).sign(id, at, body));
  const event = JSON.parse(body);
  const shown = await server.call<{ readonly instance: object }>(
    "GET",
    `/review/v1/requests/${request.id}`,
    { token: scene.reviewer },
  );
  const { name } = shown.json.instance as { readonly name: string };
  assert.deepEqual(event, {
    id,
    type: "request.waiting",
    created_at: "2026-01-01T00:00:00.000Z",
    text: '"dépl\\u{202E}oy" waits: 1h left',
    url: `https://countersign.example${await projectPath(scene.server)}/inbox/${request.id}`,
    request: {
      id: request.id,
      tool,
      instance: { id: instance.id, name },
      created_at: request.created_at,
      deadline_at: request.deadline_at,
      seconds_left: 3600,
      because: "no-policy",
      approvals_needed: 1,
      approvals_given: 0,
      from: [],
    },
  });
});

test("[ours.notify.ntfy] a topic of ntfy gets title, priority, link and its token", async (t) => {
  const scene = await startChannelScene(t);
  await newChannel(scene, "topic", { kind: "ntfy", token: "tk_secret" });
  const { id } = await scene.server.submit(scene.instance.token, { timeout: "4m" });
  await untilEnded(scene);
  const [message] = scene.at("/topic");
  const { title, priority, click, authorization } = message?.headers ?? {};
  assert.deepEqual(
    [title, priority, click, authorization],
    [
      '"deploy" waits: 4m left',
      "5",
      `https://countersign.example${await projectPath(scene.server)}/inbox/${id}`,
      "Bearer tk_secret",
    ],
  );
  assert.match(
    message?.body.toString() ?? "",
    /^"deploy" of "[a-z0-9-]+" waits for a decision\.\n/,
  );
});

test("[ours.notify.arguments] a channel shows arguments only with include_arguments", async (t) => {
  const scene = await startChannelScene(t);
  const { server, instance, admin } = scene;
  const { id } = await newChannel(scene, "all");
  const fields = { arguments: { path: "/etc/\u200Bpasswd" } };
  await server.submit(instance.token, fields);
  await untilEnded(scene);
  const body = { include_arguments: true };
  const answer = await server.call("PATCH", `${CHANNELS}/${id}`, { token: admin, body });
  assert.equal(answer.status, 200, answer.text);
  await server.submit(instance.token, fields);
  await untilEnded(scene);
  const [without = "", shown = ""] = scene.at("/all").map(textOf);
  assert.doesNotMatch(without, /passwd|Arguments/);
  assert.match(shown, /\nArguments: `\{"path":"\/etc\/\\u\{200B\}passwd"\}`\n/);
});

test("[ours.notify.secrets] where a channel leads is in no answer, log, metric, audit entry or readable column", async (t) => {
  const lines: string[] = [];
  const report = new Report("debug", { write: (line) => void lines.push(line) });
  const scene = await startChannelScene(t, {
    report,
    answer: (_, response) => response.writeHead(403).end("ANSWER of the other side"),
  });
  const { server, instance, admin, receiver } = scene;
  const fields = { kind: "ntfy", url: receiver.url("/SECRETTOPIC"), token: "tk_SECRET" };
  const { id } = await newChannel(scene, "topic", fields);
  const hook = await newChannel(scene, "hook", {
    kind: "webhook",
    url: receiver.url("/SECRETPATH"),
    signing_secret: SIGNING_SECRET,
  });
  assert.equal(hook.signing_secret, undefined);
  await server.submit(instance.token);
  const haveFailed = async () =>
    (await channelOf(scene, id)).failures > 0 && (await channelOf(scene, hook.id)).failures > 0;
  await untilNotified(scene, haveFailed, "both fail");
  const call = { token: admin };
  const answers = [
    await server.call<TestAnswer>("POST", `${CHANNELS}/${id}/test`, call),
    await server.call("GET", CHANNELS, call),
    await server.call("PATCH", `${CHANNELS}/${id}`, { ...call, body: { token: "tk_SECRET2" } }),
    await server.call("POST", CHANNELS, { ...call, body: { ...fields, name: "topic" } }),
    await server.call("DELETE", `${CHANNELS}/${id}`, call),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 400, 200],
  );
  assert.deepEqual(answers[0]?.json, {
    outcome: "rejected",
    status: 403,
    message: "The receiver rejected the message with status 403.",
  });
  const { store } = server.provider.context;
  const rows = [
    ...(await store.all("select * from channel")),
    ...(await store.all("select * from audit_entry")),
    ...(await store.all("select * from announcement")),
  ];
  const texts = [
    ...answers.map(({ text }) => text),
    ...lines,
    await server.provider.context.store
      .all("select 1")
      .then(async () => (await report.metrics()).text),
    JSON.stringify(rows),
  ];
  for (const text of texts) {
    assert.doesNotMatch(text, /SECRETTOPIC|SECRETPATH|tk_SECRET|ANSWER|AAECAwQFBgcICQoL/);
  }
  assert.equal(JSON.stringify(rows).includes(`https://localhost:${receiver.port}/...`), true);
  const sent = lines
    .map((line) => JSON.parse(line))
    .filter((line) => line.event === "announcement.sent");
  assert.ok(sent.length >= 2);
  assert.deepEqual(
    [sent[0].outcome, sent[0].status, typeof sent[0].retry_in_ms, sent[0].count],
    ["rejected", 403, "number", 1],
  );
  const { text: metrics } = await report.metrics();
  assert.match(metrics, /^countersign_announcements_total\{kind="ntfy",outcome="rejected"\} \d$/m);
});

test("[ours.notify.door] a channel of any kind sends nothing to an address that is not public", async (t) => {
  const answers: Record<string, readonly string[]> = { "inside.example.com": ["10.0.0.1"] };
  const resolver = { resolve: async (host: string) => answers[host] ?? [] };
  const scene = await startChannelScene(t, { resolver, settings: { webhook_allow_cidrs: "" } });
  const { server, admin } = scene;
  const test = async (id: string) => {
    const path = `${CHANNELS}/${id}/test`;
    return (await server.call<TestAnswer>("POST", path, { token: admin })).json;
  };
  for (const kind of ["webhook", "slack", "ntfy"]) {
    const url = "https://inside.example.com/topic";
    const { id } = await newChannel(scene, kind, { kind, url });
    const { outcome, message } = await test(id);
    assert.equal(outcome, "refused", kind);
    assert.equal(message, "The address is not public, or this server may not send to it.");
    for (const wrong of [
      "http://a.example.com/topic",
      "https://localhost/topic",
      "https://a@b.example.com/t",
    ]) {
      const answer = await tryChannel(scene, { name: "wrong", kind, url: wrong });
      assert.deepEqual([answer.status, answer.json.error.param], [400, "url"], wrong);
      assert.ok(!answer.text.includes(wrong));
    }
  }
  answers["inside.example.com"] = ["127.0.0.1", "1.1.1.1"];
  const [first] = (await server.call<{ channels: Channel[] }>("GET", CHANNELS, { token: admin }))
    .json.channels;
  assert.equal((await test(first?.id ?? "")).outcome, "refused");
  assert.equal(scene.receiver.connections, 0);
});

test("[ours.notify.test] a test says what happened in fixed words, follows no redirect, and is kept as the last result", async (t) => {
  let status = 200;
  const scene = await startChannelScene(t, {
    answer: (_, response) => {
      if (status === 0) response.socket?.destroy();
      else response.writeHead(status, { location: "https://localhost/elsewhere" }).end("words");
    },
  });
  const { server, admin } = scene;
  const { id } = await newChannel(scene, "all");
  const outcomes: unknown[] = [];
  for (status of [200, 302, 404, 500, 0]) {
    const path = `${CHANNELS}/${id}/test`;
    const { json } = await server.call<TestAnswer>("POST", path, { token: admin });
    const { last } = await channelOf(scene, id);
    assert.deepEqual([last?.outcome, last?.status], [json.outcome, json.status]);
    outcomes.push([json.outcome, json.status]);
  }
  assert.deepEqual(outcomes, [
    ["sent", 200],
    ["rejected", 302],
    ["rejected", 404],
    ["rejected", 500],
    ["unreachable:reset", undefined],
  ]);
  assert.match(textOf(scene.at("/all")[0] as never), /^This is a test of the channel `all`/);
});

test("[ours.notify.power] only admins and operators change channels, of their own project, and all of it is in the audit log", async (t) => {
  const scene = await startChannelScene(t);
  const { server, admin, receiver } = scene;
  const { id } = await newChannel(scene, "all");
  const outsider = await server.token({
    kind: "reviewer",
    name: "outsider",
    project: "other",
    role: "operator",
  } as never);
  const ways = [
    ["POST", CHANNELS, { name: "b", kind: "slack", url: receiver.url("/b") }],
    ["PATCH", `${CHANNELS}/${id}`, { disabled: true }],
    ["POST", `${CHANNELS}/${id}/test`, undefined],
    ["DELETE", `${CHANNELS}/${id}`, undefined],
  ] as const;
  for (const role of ["viewer", "reviewer", "editor"] as const) {
    const token = await server.token({ kind: "reviewer", name: role, role });
    for (const [method, path, body] of ways) {
      const answer = await server.call<ErrorResponse>(method, path, { token, body });
      assert.deepEqual([answer.status, answer.json.error.code], [403, "forbidden"], path);
    }
    assert.equal((await server.call("GET", CHANNELS, { token })).status, 200);
  }
  for (const [method, path, body] of ways.slice(1)) {
    const answer = await server.call(method, path, { token: outsider, body });
    assert.equal(answer.status, 404, `${method} ${path}`);
  }
  const elsewhere = await server.call<{ channels: unknown[] }>("GET", CHANNELS, {
    token: outsider,
  });
  assert.deepEqual(elsewhere.json.channels, []);
  for (const [method, path, body] of ways.slice(1)) {
    const answer = await server.call(method, path, { token: admin, body });
    assert.equal(answer.status, 200, answer.text);
  }
  const entries = await auditOf(scene, `channel:${id}`);
  assert.deepEqual(
    entries.map(({ kind }) => kind),
    ["channel.created", "channel.updated", "channel.tested", "channel.deleted"],
  );
  for (const { actor } of entries) assert.match(actor, /^reviewer:[0-9a-f-]{36}$/);
});

test("[ours.notify.input] an invalid channel returns 400 with the name of the field, and creates nothing", async (t) => {
  const scene = await startChannelScene(t);
  const { server, admin, receiver } = scene;
  const url = receiver.url("/a");
  const good = { name: "a", kind: "slack", url };
  const wrong = [
    ["name", { ...good, name: "" }],
    ["name", { ...good, name: "a\u202Eb" }],
    ["name", { ...good, name: "x".repeat(65) }],
    ["kind", { ...good, kind: "pager" }],
    ["url", { name: "a", kind: "slack" }],
    ["to", { ...good, to: ["a@b.example"] }],
    ["token", { ...good, token: "a" }],
    ["token", { ...good, kind: "ntfy", token: "a\nb" }],
    ["url", { ...good, kind: "ntfy", url: receiver.url("/a/b") }],
    ["signing_secret", { ...good, kind: "webhook", signing_secret: "whsec_AAAA" }],
    ["groups", { ...good, groups: ["Ops"] }],
    ["groups", { ...good, groups: "ops" }],
    ["include_arguments", { ...good, include_arguments: 1 }],
    ["remind_before", { ...good, remind_before: "25h" }],
    ["unknown", { ...good, unknown: 1 }],
  ] as const;
  for (const [param, body] of wrong) {
    const { status, json } = await tryChannel(scene, body);
    assert.deepEqual([status, json.error?.param], [400, param], JSON.stringify(body));
  }
  const { id } = await newChannel(scene, "a", { remind_before: "5m" });
  const again = await tryChannel(scene, { ...good, name: "a" });
  assert.deepEqual([again.status, again.json.error.param], [400, "name"]);
  const change = (body: object) =>
    server.call<Channel & ErrorResponse>("PATCH", `${CHANNELS}/${id}`, { token: admin, body });
  assert.equal((await change({ name: "b" })).status, 400);
  const off = await change({ remind_before: "off", groups: ["ops", "ops"] });
  assert.equal("remind_before" in off.json, false);
  const { json } = await server.call<{ channels: unknown[] }>("GET", CHANNELS, { token: admin });
  assert.equal(json.channels.length, 1);
});

test("[ours.notify.secrets] with another URL the token and the secret of the one before are not kept", async (t) => {
  const scene = await startChannelScene(t);
  const { server, admin, receiver } = scene;
  const change = (id: string, body: object) =>
    server.call<Channel>("PATCH", `${CHANNELS}/${id}`, { token: admin, body });
  const test = (id: string) => server.call("POST", `${CHANNELS}/${id}/test`, { token: admin });
  const topic = await newChannel(scene, "topic", { kind: "ntfy", token: "tk_a" });
  assert.equal((await change(topic.id, { url: receiver.url("/moved") })).status, 200);
  await test(topic.id);
  assert.equal(scene.at("/moved")[0]?.headers.authorization, undefined);
  await change(topic.id, { token: "tk_b" });
  await test(topic.id);
  assert.equal(scene.at("/moved")[1]?.headers.authorization, "Bearer tk_b");
  const hook = await newChannel(scene, "hook", { kind: "webhook", signing_secret: SIGNING_SECRET });
  const moved = await change(hook.id, { url: receiver.url("/other") });
  assert.match(moved.json.signing_secret ?? "", /^whsec_/);
  assert.notEqual(moved.json.signing_secret, SIGNING_SECRET);
  const changed = await change(hook.id, { signing_secret: OTHER_SECRET });
  assert.equal(changed.json.signing_secret, undefined);
});

test("[ours.notify.off] where webhooks are off, nothing is sent over HTTP", async (t) => {
  const scene = await startChannelScene(t, { settings: { webhooks_off: "true" } });
  const url = "https://hooks.example.com/a";
  const answer = await tryChannel(scene, { name: "a", kind: "slack", url });
  assert.deepEqual([answer.status, answer.json.error.param], [400, "kind"]);
});

test("[ours.secret-key.rotation] a rotation of the secret key encrypts the targets of channels again", async (t) => {
  const [before, after] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString("base64"));
  const scene = await startChannelScene(t, { settings: { secret_key: before ?? "" } });
  const { server, admin, receiver, clock } = scene;
  const { id } = await newChannel(scene, "topic", { kind: "ntfy", token: "tk_a" });
  await server.stop();
  const settings = { webhook_allow_cidrs: "127.0.0.0/8", secret_key: after ?? "" };
  for (const more of [{ secret_key_previous: before ?? "" }, {}]) {
    const again = await startTestProvider(t, {
      clock,
      ca: [receiver.certificate],
      data: server.data,
      settings: { ...settings, ...more },
    });
    const path = `${CHANNELS}/${id}/test`;
    const { json } = await again.call<TestAnswer>("POST", path, { token: admin });
    assert.equal(json.outcome, "sent");
    assert.equal(scene.at("/topic").at(-1)?.headers.authorization, "Bearer tk_a");
    await again.stop();
  }
});
