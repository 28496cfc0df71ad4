// Needs: bash, curl
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { exchange, makeToken } from "@countersign/testing/agents";
import { Child, temporaryFolder } from "@countersign/testing/child";
import {
  BIN,
  countersign,
  ownEnvironment,
  spawnCountersign,
  startServer,
} from "@countersign/testing/countersign";
import { useInvitation } from "./support/use-invitation.ts";

const LINK = /^ {2}(http:\/\/localhost:\d+)\/setup#([\w-]{43})$/m;

const GUIDE = join(import.meta.dirname, "../../../docs/guides/sign-in.md");

/** Uses a link as its page does. @returns the status */
async function use(url: string, token: string, login: string): Promise<number> {
  const response = await useInvitation(url, token, login);
  await response.text();
  return response.status;
}

async function start(t: TestContext, data: string, ...args: string[]): Promise<Child> {
  const server = spawnCountersign(t, ["serve", "--port", "0", "--data", data, ...args]);
  await server.prints("stderr", / is serving /);
  return server;
}

test("[ours.cli.sign-in.setup] a start prints the link of the first person, each a new one, until there is one; no log holds it", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const first = await start(t, data);
  const [, , old = ""] = LINK.exec(first.stderr) ?? [];
  assert.match(old, /./);
  await first.end("SIGTERM");
  assert.match(first.stdout, /"event":"setup\.needed","command":"countersign people setup-link"/);
  assert.ok(!first.stdout.includes(old));

  const second = await start(t, data);
  const [, url = "", token = ""] = LINK.exec(second.stderr) ?? [];
  assert.equal(await use(url, old, "ana"), 404);
  assert.equal(await use(url, token, "ana"), 201);
  assert.equal(await use(url, token, "eve"), 404);
  assert.equal((await fetch(`${url}/setup`)).status, 404);
  await second.end("SIGTERM");
  assert.ok(!second.stdout.includes(token));

  const third = await start(t, data);
  assert.doesNotMatch(third.stderr, /setup#|No account exists/);
  await third.end("SIGTERM");
  assert.doesNotMatch(third.stdout, /setup\.needed/);
});

test("[ours.cli.sign-in.setup] the link starts with public_url", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const server = await start(t, data, "--public-url", "https://countersign.example.com/");
  assert.match(server.stderr, /^ {2}https:\/\/countersign\.example\.com\/setup#[\w-]{43}$/m);
});

test("[ours.cli.sign-in.links] with --json, only the command that the log names prints the link", async (t) => {
  const server = await startServer(t);
  await server.process.prints("stdout", /"event":"setup\.needed"/);
  assert.doesNotMatch(server.process.stdout + server.process.stderr, /setup#/);
  const command = ["people", "setup-link", "--data", server.data, "--port", server.port];
  const { code, stdout, stderr } = await countersign(t, command);
  assert.equal(code, 0, stderr);
  const [, url = "", token = ""] = /^(http:\S+)\/setup#([\w-]{43})\n$/.exec(stdout) ?? [];
  assert.equal(url, server.url);
  assert.equal(await use(url, token, "ana"), 201);
  const again = await countersign(t, command);
  assert.deepEqual([again.code, again.stdout], [1, ""]);
  assert.match(again.stderr, /^countersign: Accounts already exist/);
});

test("[ours.cli.sign-in.links] recovery-link works for an existing login only", async (t) => {
  const server = await startServer(t);
  const links = ["--data", server.data, "--port", server.port, "--json"];
  const setup = await countersign(t, ["people", "setup-link", ...links]);
  const { url } = JSON.parse(setup.stdout) as { url: string };
  assert.equal(await use(server.url, url.split("#")[1] ?? "", "ana"), 201);
  const back = await countersign(t, ["people", "recovery-link", "Ana", ...links]);
  const { url: backUrl } = JSON.parse(back.stdout) as { url: string };
  assert.ok(backUrl.startsWith(`${server.url}/invitation#`), backUrl);
  const body = { token: backUrl.split("#")[1], password: "four slow tides turn" };
  const response = await fetch(`${server.url}/review/v1/invitation/use`, {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 201, await response.text());
  const unknownLogin = await countersign(t, ["people", "recovery-link", "eve", ...links]);
  assert.deepEqual([unknownLogin.code, unknownLogin.stdout], [1, ""]);
  const missing = ["people", "recovery-link", "ana", "--data", join(server.data, "no")];
  assert.equal((await countersign(t, missing)).code, 1);
});

test("[ours.cli.people] people are listed, disabled and enabled; an unknown login fails", async (t) => {
  const server = await startServer(t);
  const people = async (...words: string[]) =>
    countersign(t, ["people", ...words, "--data", server.data]);
  assert.equal((await people("list")).stdout, "There are no people.\n");
  const setup = await people("setup-link", "--port", server.port);
  assert.equal(await use(server.url, setup.stdout.trim().split("#")[1] ?? "", "ana"), 201);
  assert.equal((await people("disable", "ANA")).stdout, "ANA is disabled.\n");
  assert.match((await people("list")).stdout, /^ana +\S.* +disabled +password$/m);
  const [listed] = JSON.parse((await people("list", "--json")).stdout) as object[];
  assert.deepEqual(Object.keys(listed ?? {}), ["id", "login", "name", "ways", "disabled_at"]);
  const enabled = await people("enable", "ana", "--json");
  assert.deepEqual(JSON.parse(enabled.stdout), { login: "ana", disabled: false });
  const unknownLogin = await people("disable", "eve");
  assert.deepEqual([unknownLogin.code, unknownLogin.stdout], [1, ""]);
  assert.match(unknownLogin.stderr, /No account has the login/);
});

test("[ours.cli.sign-in.invitations] invitations create prints only the link on stdout; list and revoke use its id", async (t) => {
  const server = await startServer(t);
  const token = await makeToken(server.data, { kind: "reviewer", name: "boss", role: "admin" });
  const run = async (...words: string[]) => {
    const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
    return countersign(t, ["invitations", ...words], { env });
  };
  assert.equal((await run("list")).stdout, "There are no invitations.\n");
  const made = await run("create", "li", "--groups", "dba,app", "--lasts", "24h");
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stdout, /^http:\/\/localhost:\d+\/invitation#[\w-]{43}\n$/);
  assert.match(made.stderr, /^For li, once, until 20\S+Z\. /);
  const listed = await run("list");
  const [, id = ""] =
    /^(\S{36}) {2}li +reviewer +app,dba +open, until 20/m.exec(listed.stdout) ?? [];
  assert.doesNotMatch(listed.stdout, /#/);
  assert.equal((await run("revoke", id)).stdout, `Revoked ${id}.\n`);
  assert.equal((await run("revoke", id)).code, 1);
  assert.equal((await run("revoke", "x")).code, 2);
  assert.equal((await run("create", "li", "--lasts", "soon")).code, 2);
  const above = await run("create", "li", "--role", "operator", "--json");
  assert.equal(above.code, 1);
  assert.match(above.stderr, /"code":"forbidden"/);
  const path = `${server.url}/review/v1/invitations`;
  assert.equal((await exchange("GET", path, token)).status, 200);
});

test("[ours.sign-in.documented] the commands of the guide to signing in print its output", async (t) => {
  const cwd = temporaryFolder(t);
  const server = spawnCountersign(t, ["serve", "--port", "0", "--data", "data"], { cwd });
  const [, url = ""] = await server.prints("stderr", /serving (http:\/\/localhost:\d+)/);
  const guide = readFileSync(GUIDE, "utf8");
  const blocks = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = ""]) => text);
  assert.ok(blocks.length >= 5);
  const script = [
    "exec 2>&1; set -euo pipefail",
    `countersign() { "${process.execPath}" "${BIN}" "$@"; }`,
    ...blocks.map((text, index) => `${text}\necho; echo "-- end of ${index + 1}"`),
  ].join("\n");
  const path = `${dirname(process.execPath)}:${process.env.PATH}`;
  const shell = ["bash", "-c", script.replaceAll("http://localhost:8787", url)];
  const env = { ...ownEnvironment(), PATH: path };
  const player = new Child(t, shell, { env, cwd });
  for (const index of blocks.keys()) {
    await player.prints("stdout", new RegExp(`^-- end of ${index + 1}$`, "m"));
  }
  const { code, stdout } = await player.ends();
  assert.equal(code, 0, stdout);
  const parts = stdout.split(/^-- end of \d+$/m);
  const expected = [
    /^http:\/\/localhost:8787\/setup#[\w-]{43}$/m,
    /"login":"ana@example\.org".*"role":"operator"/,
    /invitation#[\w-]{43}[\s\S]* {2}li +reviewer +dba +open/,
    /^Revoked \S{36}\.$/m,
    /\/invitation#[\w-]{43}$/m,
    /\nana@example\.org +Ana Ibarra +enabled +password\n.* is disabled\.\n.* is enabled\.$/m,
  ];
  for (const [index, pattern] of expected.entries()) {
    assert.match(parts[index] ?? "", pattern, `of block ${index + 1}`);
  }
});
