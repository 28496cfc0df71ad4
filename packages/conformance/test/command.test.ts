import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { makeToken } from "@countersign/testing/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { type Server, spawnProgram, startServer } from "@countersign/testing/countersign";

const BIN = join(import.meta.dirname, "../bin/countersign-conformance.js");

const file = fileOwner();
const folder = temporaryFolder(file);
let server: Server;

/** Tokens are in files: on a command line others could read them. */
const PROVISIONER = join(folder, "provisioner");
const REVIEWER = join(folder, "reviewer");

before(async () => {
  server = await startServer(file);
  writeFileSync(PROVISIONER, `${await makeToken(server.data, { kind: "provisioner" })}\n`);
  writeFileSync(REVIEWER, `${await makeToken(server.data, { kind: "reviewer" })}\n`);
});

function run(...args: readonly string[]) {
  return spawnProgram(file, BIN, args).ends();
}

function conformance(...args: readonly string[]) {
  return run(server.url, "--provisioner-token-file", PROVISIONER, ...args);
}

const DECIDED = ["--decider", "countersign", "--decider-token-file", REVIEWER];

test("[ours.conformance.exit-codes] a correct provider causes exit code 0, with reports", async () => {
  const [json, junit] = [join(folder, "report.json"), join(folder, "report.xml")];
  const args = ["--only", "cancel,decide.deny,service.https", "--json", json, "--junit", junit];
  const { code, stdout, stderr } = await conformance(...args, ...DECIDED);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^ok +cancel\.pending$/m);
  assert.match(
    stdout,
    /^5 scenarios in .*: 5 passed, 0 failed, 0 not tested, 0 not applicable\.$/m,
  );
  const texts = [stdout, stderr, readFileSync(json, "utf8"), readFileSync(junit, "utf8")];
  assert.equal((JSON.parse(texts[2] ?? "") as { readonly passed: number }).passed, 5);
  assert.match(texts[3] ?? "", /<testcase .*name="cancel\.pending"/);
  for (const text of texts) assert.doesNotMatch(text, /cs_(prov|inst|rev)_|whsec_\w{9}/);
});

test("[ours.conformance.exit-codes] untested rules are listed and cause exit code 1 unless they are allowed", async () => {
  const only = ["--only", "decide.deny,receiver.verified"];
  const { code, stdout } = await conformance(...only);
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^untested +decide\.deny\n +there is no decider \(--decider/m);
  assert.match(
    stdout,
    /^untested +receiver\.verified\n +there is no receiver \(--receiver-host\)/m,
  );
  assert.match(stdout, /request\.deny \(States, Approval request\)/);
  assert.equal((await conformance(...only, "--allow-untested")).code, 0);
  assert.equal((await conformance("--only", "cancel.unknown", "--skip", "cancel")).code, 1);
});

test("[ours.conformance.exit-codes] a provider that violates a rule causes exit code 1 with the rule", async () => {
  // A decider that says it has decided, and has not.
  const command = ["--decider-command", "true", "--only", "decide.deny", "--timeout", "60s"];
  const { code, stdout } = await conformance(...command);
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^FAILED +decide\.deny\n.*\n +broken: request\.deny$/m);
});

test("[ours.conformance.exit-codes] wrong usage is exit code 2, an unreachable provider exit code 3", async () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["--only", "nothing"], /there is no scenario nothing/],
    [["--decider", "me"], /--decider must be countersign/],
    [["--decider-command", "x", "--decider-url", "http://x"], /--decider-command excludes/],
    [["--receiver-host", "localhost"], /--receiver-ca/],
    [["--receiver-ca", folder], /--receiver-host/],
    [["--timeout", "soon"], /--timeout must be a duration/],
    [["--decider-token-file", join(folder, "nothing")], /cannot be read: ENOENT/],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await conformance(...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  }
  const missing = await run(server.url);
  assert.equal(missing.code, 2);
  const token = ["--provisioner-token-file", PROVISIONER];
  const unreachable = await run("http://127.0.0.1:1", ...token);
  assert.equal(unreachable.code, 3, unreachable.stderr);
  const wrongToken = ["--provisioner-token-file", REVIEWER.replace("reviewer", "stranger")];
  writeFileSync(wrongToken[1] ?? "", "not-a-token");
  const refused = await run(server.url, ...wrongToken);
  assert.equal(refused.code, 1, refused.stderr);
  assert.match(refused.stderr, /the provider rejects the provisioner token \(401\)/);
});

test("[ours.conformance.authority] the authority is created once, readable only by its owner, and reused", async () => {
  const place = join(folder, "authority");
  const receiver = ["--receiver-host", "127.0.0.1", "--receiver-ca", place];
  const only = ["--only", "cancel.unknown"];
  const made = await conformance(...receiver, ...only);
  assert.equal(made.code, 1);
  assert.match(made.stderr, /let the provider trust .*receiver-ca\.pem/);
  const [certificate, key] = ["receiver-ca.pem", "receiver-ca.key"].map((name) =>
    join(place, name),
  );
  assert.equal(statSync(key ?? "").mode & 0o777, 0o600);
  const before = readFileSync(certificate ?? "", "utf8");
  assert.equal((await conformance(...receiver, ...only)).code, 0);
  assert.equal(readFileSync(certificate ?? "", "utf8"), before);
});

test("[ours.conformance.list] the list contains scenarios, their needs, and untestable rules with the reason", async () => {
  const { code, stdout } = await run("--list");
  assert.equal(code, 0);
  assert.match(stdout, /^receiver\.verified \(needs receiver, asynchronous\)$/m);
  assert.match(
    stdout,
    /^request\.cancel\.terminal \(Endpoints, DELETE .*\)\n.*\n +tested by .*decide\.cancel/m,
  );
  assert.match(stdout, /not testable from outside: the kit does not wait for a week/);
});
