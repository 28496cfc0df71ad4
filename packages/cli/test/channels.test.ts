import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { makeToken } from "@countersign/testing/agents";
import { fileOwner, type Outcome, temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";

const file = fileOwner();
let server: Server;
let token: string;

before(async () => {
  // Nothing of this leaves the machine: no name server is asked for an address.
  server = await startServer(file);
  token = await makeToken(server.data, { kind: "reviewer", name: "ana", role: "admin" });
});

function run(t: TestContext, ...args: string[]): Promise<Outcome> {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  return countersign(t, ["channels", ...args], { env });
}

/** @returns stdout of a command that is done */
async function done(t: TestContext, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(t, ...args);
  assert.deepEqual([code, stderr], [0, ""]);
  return stdout;
}

test("[ours.notify.cli] a channel is made, listed, tested, disabled, enabled and deleted, and never shown in full", async (t) => {
  assert.equal(await done(t, "list"), "There are no channels.\n");
  const url = join(temporaryFolder(t), "url");
  // Nothing is sent to an address that is not public.
  writeFileSync(url, "https://10.0.0.1/SECRETTOPIC\n");
  const options = ["--name", "phone", "--target", `@${url}`, "--groups", "ops,*"];
  const card = await done(t, "create", "ntfy", ...options, "--remind-before", "5m");
  assert.match(card, /^channel +phone {2}[0-9a-f-]{36}$/m);
  assert.match(card, /^target +ntfy https:\/\/10\.0\.0\.1\/\.\.\.$/m);
  assert.match(card, /^groups +\*,ops$/m);
  assert.doesNotMatch(card, /SECRET/);
  const tested = await run(t, "test", "phone");
  const refused = "refused: The address is not public, or this server may not send to it.\n";
  assert.deepEqual([tested.code, tested.stdout], [1, refused]);
  assert.match(
    await done(t, "list"),
    /^phone +ntfy +https:\/\/10\.0\.0\.1\/\.\.\. +\*,ops +refused$/m,
  );
  assert.match(await done(t, "disable", "phone"), /^state +disabled$/m);
  assert.match(await done(t, "enable", "phone"), /^state +enabled$/m);
  assert.equal(await done(t, "delete", "phone"), "Deleted phone.\n");
  assert.equal(await done(t, "list"), "There are no channels.\n");
});

test("[ours.notify.cli] the secret of a webhook is displayed once, and missing options are named", async (t) => {
  const options = ["--name", "hook", "--target", "https://hooks.example.com/a"];
  const made = JSON.parse(await done(t, "create", "webhook", ...options, "--json"));
  assert.match(made.signing_secret, /^whsec_/);
  const listed = await done(t, "list", "--json");
  assert.equal(JSON.parse(listed)[0].id, made.id);
  assert.doesNotMatch(listed, /whsec_/);
  const wrong = [
    [2, /--name is missing/, "create", "slack"],
    [2, /the kind of a channel is one of/, "create", "pager", "--name", "a"],
    [2, /--target is missing/, "create", "slack", "--name", "a"],
    [2, /--to is missing/, "create", "email", "--name", "a"],
    [1, /smtp_url/, "create", "email", "--name", "a", "--to", "a@example.com"],
    [2, /no channel with this name/, "test", "nobody"],
    [2, /cannot be read \(ENOENT\)/, "create", "slack", "--name", "a", "--target", "@/no/such"],
  ] as const;
  for (const [code, message, ...args] of wrong) {
    const outcome = await run(t, ...args);
    assert.equal(outcome.code, code, outcome.stderr);
    assert.match(outcome.stderr, message);
  }
});

test("[ours.slack.input] a Slack app needs its token and its Slack channel, and the token is not displayed", async (t) => {
  const token = join(temporaryFolder(t), "token");
  writeFileSync(token, "xoxb-1234567890-SECRET\n");
  const options = ["--name", "slack", "--slack-channel", "C0123456789"];
  const missing = await run(t, "create", "slack_app", ...options);
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /--access-token is missing/);
  const unnamed = await run(t, "create", "slack_app", "--name", "a", "--access-token", `@${token}`);
  assert.match(unnamed.stderr, /--slack-channel is missing/);
  const card = await done(t, "create", "slack_app", ...options, "--access-token", `@${token}`);
  assert.match(card, /^target +slack_app Slack channel C0123456789$/m);
  assert.doesNotMatch(card, /SECRET/);
  assert.equal(await done(t, "delete", "slack"), "Deleted slack.\n");
});

test("[ours.bots.input] bots of Telegram, Discord and Mattermost need a token and a conversation", async (t) => {
  const folder = temporaryFolder(t);
  const tokens = {
    telegram: `1234567890:${"S".repeat(35)}`,
    discord: `MTIzNDU2Nzg5.${"S".repeat(50)}`,
    mattermost: "s".repeat(26),
  };
  const chats = {
    telegram: "-1001234567890",
    discord: "1234567890123456789",
    mattermost: "c".repeat(26),
  };
  for (const [kind, token] of Object.entries(tokens)) {
    const file = join(folder, kind);
    writeFileSync(file, `${token}\n`);
    const target = kind === "mattermost" ? ["--target", "https://chat.example.com"] : [];
    const options = ["--name", kind, "--access-token", `@${file}`, ...target];
    const missing = await run(t, "create", kind, ...options);
    assert.match(missing.stderr, /--conversation is missing/);
    const chat = chats[kind as keyof typeof chats];
    const card = await done(t, "create", kind, ...options, `--conversation=${chat}`);
    assert.match(card, new RegExp(`^target .*${chat}$`, "m"));
    assert.doesNotMatch(card, /SSSS|ssss/);
    assert.equal(await done(t, "delete", kind), `Deleted ${kind}.\n`);
  }
  const file = join(folder, "discord");
  const options = ["--name", "a", "--access-token", `@${file}`, "--conversation", chats.discord];
  const unsafe = await run(t, "create", "discord", ...options, "--decide", "--include-arguments");
  assert.match(unsafe.stderr, /public_key/);
});
