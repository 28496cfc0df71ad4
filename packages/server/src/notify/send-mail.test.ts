import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type MailServerOptions, startMailServer } from "../../test/support/mail-server.ts";
import { systemClock } from "../clock.ts";
import { readMailUrl } from "../config/mail-settings.ts";
import { type MailBounds, sendMail } from "./send-mail.ts";

const MAIL = {
  from: "a@example.com",
  to: ["b@example.com"],
  subject: "subject",
  text: "text",
  id: "an-id",
};

/** As to a server of another machine: STARTTLS, or nothing. */
async function send(t: TestContext, isTrusted: boolean, options: MailServerOptions, bounds = {}) {
  const { port, certificate, mails } = await startMailServer(t, options);
  const server = {
    host: "localhost",
    port,
    isImplicitTls: false,
    isPlain: false,
    login: undefined,
    ca: isTrusted ? [certificate] : undefined,
  };
  const all: MailBounds = {
    clock: systemClock,
    timeoutMs: 5_000,
    isWanted: () => true,
    signal: new AbortController().signal,
    ...bounds,
  };
  return { outcome: await sendMail(server, MAIL, all), mails };
}

test("[ours.notify.email.tls] mail goes over STARTTLS with a valid certificate, or not at all", async (t) => {
  const trusted = await send(t, true, {});
  assert.deepEqual(trusted.outcome, { kind: "sent", status: 250 });
  assert.deepEqual(
    trusted.mails.map(({ isSecure }) => isSecure),
    [true],
  );
  for (const [isTrusted, options] of [
    [false, {}],
    [true, { hideSTARTTLS: true, disabledCommands: ["STARTTLS"] }],
  ] as const) {
    const { outcome, mails } = await send(t, isTrusted, options as MailServerOptions);
    assert.notEqual(outcome.kind, "sent");
    assert.equal(mails.length, 0);
    if (!isTrusted) assert.deepEqual(outcome, { kind: "unreachable", reason: "tls" });
  }
});

test("[ours.notify.retried] mail that is not wanted any more is not sent, nor is it when all is cut off", async (t) => {
  const unwanted = await send(t, true, {}, { isWanted: async () => false });
  assert.deepEqual([unwanted.outcome, unwanted.mails.length], [{ kind: "unwanted" }, 0]);
  const cut = await send(t, true, {}, { signal: AbortSignal.abort() });
  assert.deepEqual(cut.outcome, { kind: "unreachable", reason: "reset" });
  assert.equal(cut.mails.length, 0);
});

test("[ours.notify.email.tls] only loopback names and addresses count as this machine", () => {
  const loopback = ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"];
  const others = ["mail.example", "127.0.0.1.example", "10.0.0.1", "[::2]", "localhost.example"];
  for (const host of loopback) assert.ok(readMailUrl(`smtp://${host}`).isLoopback, host);
  for (const host of others) assert.ok(!readMailUrl(`smtp://${host}`).isLoopback, host);
  const { host, port, login } = readMailUrl("smtps://me%40a:p%3Aw@mail.example");
  assert.deepEqual([host, port, login], ["mail.example", 465, { user: "me@a", pass: "p:w" }]);
});
