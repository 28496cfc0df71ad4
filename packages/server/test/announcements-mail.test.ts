/**
 * Notifications by mail, to a mail server over real sockets.
 */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import {
  type ChannelSceneOptions,
  channelOf,
  newChannel,
  passTime,
  startChannelScene,
  tryChannel,
  untilEnded,
} from "./support/channel-scene.ts";
import { startMailServer } from "./support/mail-server.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { projectPath } from "./support/test-projects.ts";
import type { Lifetime } from "./support/test-provider.ts";

const TO = { kind: "email", url: undefined, to: ["ops@example.com", "anna@example.com"] };

interface TestAnswer {
  readonly outcome: string;
  readonly status?: number;
  readonly message: string;
}

function start(t: Lifetime, smtpUrl: string, ca: readonly string[] = [], more: object = {}) {
  const settings = { smtp_from: "countersign@example.com", ...more };
  const environment = { COUNTERSIGN_SMTP_URL: smtpUrl };
  const options: ChannelSceneOptions = { settings, environment, ca };
  return startChannelScene(t, options);
}

/** The answer to one call of `test`. */
async function outcomeAt(
  t: Lifetime,
  ...parameters: [string, (readonly string[])?, object?]
): Promise<TestAnswer> {
  const scene = await start(t, ...parameters);
  const { id } = await newChannel(scene, "mail", TO);
  const path = `/review/v1/channels/${id}/test`;
  const { json } = await scene.server.call<TestAnswer>("POST", path, { token: scene.admin });
  assert.equal((await channelOf(scene, id)).last?.outcome, json.outcome);
  return json;
}

test("[ours.notify.email] one mail goes to all addresses, over TLS, with the login of the settings", async (t) => {
  const mail = await startMailServer(t, { password: "pass word" });
  const url = `smtp://user:pass%20word@localhost:${mail.port}`;
  for (const [scheme, secure] of [
    ["smtp", false],
    ["smtps", true],
  ] as const) {
    const own = secure ? await startMailServer(t, { password: "pass word", secure }) : mail;
    const host = url.replace("smtp:", `${scheme}:`).replace(/\d+$/, String(own.port));
    const scene = await start(t, host, [own.certificate]);
    const { server, instance } = scene;
    const note = "Deploys\r\nBcc: evil@example.com";
    await enforce(
      server,
      policyOf(
        `{ id: prod, match: { tool: "*" }, then: ask, note: ${JSON.stringify(note)}, ` +
          "ask: { from: [group:ops] } }",
      ),
    );
    await newChannel(scene, "mail", TO);
    const { id } = await server.submit(instance.token, { tool: "wire €\r\nBcc: evil@example.com" });
    const [row] = await untilEnded(scene);
    assert.equal(row?.ended_by, "sent");
    const [received] = own.mails;
    assert.ok(received);
    assert.deepEqual(received.to, TO.to);
    assert.equal(received.from, "countersign@example.com");
    assert.equal(received.isSecure, true);
    assert.equal(received.user, "user");
    const [head = "", ...paragraphs] = received.source.split("\r\n\r\n");
    const body = paragraphs.join("\r\n\r\n");
    assert.doesNotMatch(head, /^Bcc/im);
    assert.match(head, /^Auto-Submitted: auto-generated$/m);
    assert.match(head, /^Message-ID: <[0-9a-f-]{36}@example\.com>$/m);
    assert.match(head, /^Content-Type: text\/plain; charset=utf-8$/m);
    assert.match(
      decode(head, body),
      new RegExp(`https://countersign.example${await projectPath(scene.server)}/inbox/${id}`),
    );
    assert.match(decode(head, body), /^"wire €\\u\{000D\}\\u\{000A\}Bcc: evil@example\.com" of /);
    assert.doesNotMatch(decode(head, body), /^Bcc/m);
  }
});

function decode(head: string, body: string): string {
  if (/^Content-Transfer-Encoding: base64$/im.test(head)) {
    return Buffer.from(body, "base64").toString();
  }
  const bytes = body
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString().replaceAll("\r\n", "\n");
}

test("[ours.notify.email.tls] a mail server gets nothing without a valid certificate, unless it is this machine", async (t) => {
  const trusted = await startMailServer(t);
  const untrusted = await outcomeAt(
    t,
    `smtps://localhost:${(await startMailServer(t, { secure: true })).port}`,
  );
  assert.deepEqual([untrusted.outcome, untrusted.status], ["unreachable:tls", undefined]);
  assert.match(untrusted.message, /valid TLS certificate/);
  const plain = await outcomeAt(t, `smtp://127.0.0.1:${trusted.port}`);
  assert.deepEqual([plain.outcome, plain.status], ["sent", 250]);
  assert.equal(trusted.mails.length, 1);
});

test("[ours.notify.test] a test by mail answers with the code of the mail server, and never with its words", async (t) => {
  const refusing = await startMailServer(t, { refuseWith: 552 });
  const login = await startMailServer(t, { password: "right", authOptional: false });
  const closed = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => closed.once("listening", resolve));
  const { port } = closed.address() as { readonly port: number };
  await new Promise((resolve) => closed.close(resolve));
  const answers = [
    await outcomeAt(t, `smtp://localhost:${refusing.port}`),
    await outcomeAt(t, `smtp://user:wrong@localhost:${login.port}`),
    await outcomeAt(t, `smtp://localhost:${port}`),
  ];
  assert.deepEqual(
    answers.map(({ outcome, status }) => [outcome, status]),
    [
      ["rejected", 552],
      ["rejected", 535],
      ["unreachable:connect", undefined],
    ],
  );
  assert.doesNotMatch(JSON.stringify(answers), /secret|wrong|right|localhost/);
});

test("[ours.notify.email] an attempt at a silent mail server fails after 8 seconds", async (t) => {
  const silent = createServer((socket) => void socket.on("error", () => undefined));
  silent.listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  t.after(() => void silent.close());
  const { port } = silent.address() as { readonly port: number };
  const scene = await start(t, `smtp://localhost:${port}`);
  const { id } = await newChannel(scene, "mail", TO);
  await scene.server.submit(scene.instance.token);
  const connected = new Promise<void>((resolve) => silent.once("connection", () => resolve()));
  scene.clock.advance(0);
  await connected;
  await passTime(scene, 9_000);
  const { last } = await channelOf(scene, id);
  assert.equal(last?.outcome, "unreachable:timeout");
});

test("[ours.notify.email] without a mail server there is no channel of kind email, and addresses are strict", async (t) => {
  const without = await startChannelScene(t);
  const none = await tryChannel(without, { name: "mail", kind: "email", to: ["a@b.example"] });
  assert.equal(none.status, 400);
  assert.match(none.json.error.message, /smtp_url/);
  const scene = await start(t, "smtp://localhost:25");
  const wrong = [
    "a",
    "a@b, c@d.example",
    "a@b\r\nBcc: c@d.example",
    "<a@b.example>",
    "Ä@b.example",
  ];
  for (const address of wrong) {
    const answer = await tryChannel(scene, { name: "mail", kind: "email", to: [address] });
    assert.equal(answer.json.error?.param, "to", address);
  }
});
