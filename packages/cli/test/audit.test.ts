/**
 * The commands `countersign audit`, beside a running server and where there is none.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { Agent, makeToken, provision, SUBMISSION } from "@countersign/testing/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { countersign, spawnCountersign, startServer } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";

const VERIFIER = join(import.meta.dirname, "../../../examples/audit-verifier/verify.mjs");

const REQUESTS = 300;

const owner = fileOwner();
const server = await startServer(owner, { args: ["--instance-rate", "0"] });
const { data } = server;
const { credential } = await provision(server, await makeToken(data, { kind: "provisioner" }));
const agent = new Agent(server.url, credential.token);
const opened: string[] = [];
for (let i = 0; i < REQUESTS; i++) {
  const tool = `deploy \u2028 ${i}`;
  opened.push((await agent.post(`key ${i}`, { ...SUBMISSION, tool })).json.id);
}
await agent.cancel(opened[7] ?? "");

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `countersign audit ...` on the data folder. */
function audit(t: TestContext, ...words: readonly string[]): Promise<Run> {
  return countersign(t, ["audit", ...words, "--data", data]);
}

await eventually("the log is sealed", () => {
  const database = new DatabaseSync(server.database);
  try {
    const { size } = database.prepare("select max(size) as size from audit_log").get() ?? {};
    const { n } = database.prepare("select count(*) as n from audit_entry").get() ?? {};
    return size === n && Number(n) > REQUESTS ? true : undefined;
  } finally {
    database.close();
  }
});

/** An export, with what an auditor has besides. */
async function exported(
  t: TestContext,
): Promise<{ file: string; key: string; checkpoint: string }> {
  const folder = temporaryFolder(t);
  const [file, key, checkpoint] = ["log.jsonl", "key", "checkpoint"].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  assert.equal((await audit(t, "export", "--out", file)).code, 0);
  writeFileSync(key, (await audit(t, "key")).stdout);
  writeFileSync(checkpoint, (await audit(t, "checkpoint")).stdout);
  return { file, key, checkpoint };
}

/** Runs the command as a user without a database. */
function offline(t: TestContext, ...words: readonly string[]): Promise<Run> {
  return countersign(t, ["audit", "verify", ...words], { cwd: temporaryFolder(t) });
}

test("[ours.audit.verify] beside the running server all logs are verified, with exit code 0", async (t) => {
  const { code, stdout } = await audit(t, "verify");
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^project default: \d+ entries verified, root \S{44}$/m);
  const json = JSON.parse((await audit(t, "verify", "--json")).stdout);
  assert.equal(json.valid, true);
  assert.ok(json.logs[0].size > REQUESTS);
});

test("[ours.audit.since] after a checkpoint, only later entries are verified, with the key of the log", async (t) => {
  const { checkpoint, key } = await exported(t);
  const [, size] = readFileSync(checkpoint, "utf8").split("\n");
  const good = await audit(t, "verify", "--since", checkpoint, "--public-key", key);
  assert.equal(good.code, 0, good.stdout);
  assert.match(good.stdout, /^project default: no new entries, root \S{44}$/m);
  assert.match(good.stdout, /the stored hashes of entries 0 to \d+ match the given checkpoint$/m);
  const json = JSON.parse((await audit(t, "verify", "--json", "--since", checkpoint)).stdout);
  assert.deepEqual([json.valid, json.logs.length, json.logs[0].since], [true, 1, Number(size)]);

  const forged = join(temporaryFolder(t), "forged");
  const [text, signature] = readFileSync(checkpoint, "utf8").split("\n\n");
  const other = signature?.replace(/.{8}\n$/, "AAAAAAA=\n");
  writeFileSync(forged, `${text}\n\n${other}`);
  const bad = await audit(t, "verify", "--since", forged);
  assert.equal(bad.code, 1, bad.stdout);
  assert.match(bad.stdout, /^signature: /);
});

test("[ours.audit.since] --since excludes other inputs, and a missing file is a usage error", async (t) => {
  const { checkpoint, file } = await exported(t);
  for (const [option, value] of [
    ["--checkpoint", checkpoint],
    ["--file", file],
    ["--archive", temporaryFolder(t)],
  ] as const) {
    const { code, stderr } = await audit(t, "verify", "--since", checkpoint, option, value);
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`give --since or ${option}, not both`));
  }
  const missing = await audit(t, "verify", "--since", `${checkpoint}.none`);
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /none does not exist/);
});

test("[ours.audit.verify] a database without sealed entries is reported as having no log", async (t) => {
  const empty = join(temporaryFolder(t), "data");
  await makeToken(empty, { kind: "provisioner" });
  const { code, stdout } = await countersign(t, ["audit", "verify", "--data", empty]);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^There is no log yet/);
});

test("[ours.audit.export] an export exits without an error when its reader stops, like head", async (t) => {
  const child = spawnCountersign(t, ["audit", "export", "--data", data]);
  child.stopReading();
  const { code, stderr } = await child.ends();
  assert.deepEqual([code, stderr], [0, ""]);
});

test("[ours.audit.verify] one byte changed in the database is named, with exit code 1 and the finding on stdout", async (t) => {
  const { checkpoint, key } = await exported(t);
  const database = new DatabaseSync(server.database);
  t.after(() => database.close());
  const where = "where subject = ? and kind = 'request.resolved'";
  const subject = `request:${opened[7]}`;
  const change = (from: string, to: string) =>
    database
      .prepare(`update audit_entry set detail = replace(detail, ?, ?) ${where}`)
      .run(from, to, subject);
  change("cancelled", "cancelleD");
  const { code, stdout, stderr } = await audit(t, "verify", "--checkpoint", checkpoint);
  const json = await audit(t, "verify", "--json", "--public-key", key);
  const proof = await audit(t, "prove", opened[7] ?? "");
  change("cancelleD", "cancelled");
  assert.deepEqual([code, stderr], [1, ""]);
  const place = /^altered: project default: entry \d+, request\.resolved, 20\d\d-\S+Z, id \S{36}: /;
  assert.match(stdout, place);
  assert.match(stdout, /: its row is not what was sealed\n$/);
  assert.equal(json.code, 1);
  const { valid, finding } = JSON.parse(json.stdout);
  assert.deepEqual([valid, finding.fault, finding.kind], [false, "altered", "request.resolved"]);
  assert.equal(proof.code, 1);
  assert.match(proof.stderr, /is not what was sealed: run countersign audit verify/);
  assert.equal((await audit(t, "verify", "--checkpoint", checkpoint)).code, 0);
});

test("[ours.audit.export] countersign and an independent program verify an export without the database", async (t) => {
  const { file, key, checkpoint } = await exported(t);
  const { code, stdout } = await offline(
    t,
    "--file",
    file,
    "--public-key",
    key,
    "--checkpoint",
    checkpoint,
  );
  assert.equal(code, 0, stdout);
  const publicKey = readFileSync(key, "utf8").trim();
  const run = promisify(execFile);
  const theirs = await run(process.execPath, [VERIFIER, file, publicKey]);
  assert.match(theirs.stdout, /^entries 0 to \d+ verified\n$/);

  for (const args of [[], [file], [file, "key"]]) {
    const stdout = "usage: node verify.mjs EXPORT PUBLIC_KEY\n";
    await assert.rejects(run(process.execPath, [VERIFIER, ...args]), { code: 1, stdout });
  }

  const text = readFileSync(file, "utf8");
  const lines = text.trimEnd().split("\n");
  const swapped = [...lines];
  [swapped[20], swapped[21]] = [lines[21] ?? "", lines[20] ?? ""];
  for (const [altered, says] of [
    [text.replace("request.opened", "request.closed"), /^altered: .*entries 0 to \d+ are not what/],
    [lines.toSpliced(20, 1).join("\n"), /^missing: .*entry 19: its line is missing/],
    [swapped.join("\n"), /^missing: .*entry 19: its line is missing/],
    [lines.toSpliced(21, 0, lines[20] ?? "").join("\n"), /^reordered: .*entry 19/],
    [lines.slice(0, -1).join("\n"), /^missing: .*the end is missing/],
    [lines.slice(0, 50).join("\n"), /^missing: .*the end is missing/],
    [text.replace('"from":0', '"from":1'), /^unreadable: .*line 1 is not a line/],
    [`${text}\n{}`, /^unreadable: .*is not a line of an export/],
  ] as const) {
    writeFileSync(file, altered);
    const wrong = await offline(t, "--file", file, "--public-key", key);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stdout, says);
    await assert.rejects(run(process.execPath, [VERIFIER, file, publicKey]));
  }
});

test("[ours.audit.export] an export from some time on is verified as well, against checkpoints that it reaches back to", async (t) => {
  const { file, key, checkpoint } = await exported(t);
  const all = readFileSync(file, "utf8").split("\n");
  const { at } = JSON.parse(all[REQUESTS - 20] ?? "").entry;
  const since = new Date(at).toISOString();
  assert.equal((await audit(t, "export", "--since", since, "--out", file)).code, 0);
  const { from } = JSON.parse(readFileSync(file, "utf8").split("\n", 1)[0] ?? "");
  assert.ok(from > 0 && from <= REQUESTS - 20, `from ${from}`);
  const good = await offline(t, "--file", file, "--public-key", key, "--checkpoint", checkpoint);
  assert.equal(good.code, 0, good.stdout);
  const publicKey = readFileSync(key, "utf8").trim();
  await promisify(execFile)(process.execPath, [VERIFIER, file, publicKey]);
});

test("[ours.audit.proof] the public key alone proves the log entries of one request", async (t) => {
  const { key } = await exported(t);
  const file = join(temporaryFolder(t), "proof");
  const id = opened[7] ?? "";
  assert.equal((await audit(t, "prove", id, "--out", file)).code, 0);
  const { code, stdout } = await offline(t, "--proof", file, "--public-key", key);
  assert.equal(code, 0, stdout);
  assert.match(stdout, new RegExp(`^\\S+Z request\\.opened of request:${id} by instance:`, "m"));
  assert.match(stdout, new RegExp(`^\\S+Z request\\.resolved of request:${id} by instance:`, "m"));
  const json = await offline(t, "--proof", file, "--public-key", key, "--json");
  assert.equal(JSON.parse(json.stdout).entries[1].detail.status, "cancelled");

  const text = readFileSync(file, "utf8");
  for (const altered of [
    text.replace("cancelled", "approved"),
    text.replace(/"position":(\d)/, '"position":1$1'),
    // Another byte, and the same bytes in another spelling.
    text.replace(/"proof":\["(.)/, (_, first) => `"proof":["${first === "A" ? "B" : "A"}`),
    text.replace(/"proof":\["([^"]+)="/, '"proof":["$1"'),
    text.replace(/\\n(\d+)\\n/, "\\n1$1\\n"),
    text.replace(/"proof":\[[^\]]*\]/, '"proof":[]'),
    "{}\n",
  ]) {
    assert.notEqual(altered, text);
    writeFileSync(file, altered);
    const wrong = await offline(t, "--proof", file, "--public-key", key);
    assert.equal(wrong.code, 1, wrong.stdout);
  }
});

test("[ours.cli.exit-codes] wrong use of the audit commands ends with 2, and what is not there with 1", async (t) => {
  const { file, key } = await exported(t);
  const none = temporaryFolder(t);
  for (const [words, code, says] of [
    [["verify", "--file", file], 2, /--public-key is missing/],
    [["verify", "--file", file, "--public-key", "nonsense"], 2, /must be the output of/],
    [["verify", "--file", "/nowhere", "--public-key", key], 2, /does not exist/],
    [
      ["verify", "--file", file, "--proof", file, "--public-key", key],
      2,
      /give only one of --backup, --file and --proof/,
    ],
    [["verify", "--checkpoint", key], 2, /does not contain a checkpoint/],
    [["export", "--since", "soon"], 2, /must be a time/],
    [["key", "--project", "p", "--server"], 2, /not both/],
    [["prove", "nonsense"], 2, /invalid id/],
    [["prove", "01a20121-94e3-7021-b58b-2793b325438e"], 1, /has no entry of this request/],
    [["key", "--project", "nobody"], 1, /unknown project "nobody"/],
  ] as const) {
    const outcome = await audit(t, ...words);
    assert.deepEqual([outcome.code, outcome.stdout], [code, ""], outcome.stderr);
    assert.match(outcome.stderr, says);
  }
  const empty = await countersign(t, ["audit", "verify", "--data", none]);
  assert.equal(empty.code, 1);
  assert.match(empty.stderr, /no database found in/);
});

test("[ours.stream.export] the events after a position are exported in both formats", async (t) => {
  const all = await audit(t, "export", "--format", "cloudevents");
  const events = all.stdout.trimEnd().split("\n");
  assert.ok(events.length > REQUESTS);
  const { sequence } = JSON.parse(events.at(-3) ?? "");
  const after = await audit(t, "export", "--format", "cloudevents", "--after", sequence);
  assert.deepEqual(after.stdout.trimEnd().split("\n"), events.slice(-2));
  const ocsf = await audit(t, "export", "--format", "ocsf", "--after", String(Number(sequence)));
  const uids = ocsf.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).metadata.uid);
  assert.deepEqual(
    uids,
    events.slice(-2).map((line) => JSON.parse(line).id),
  );
  const last = String(events.length - 1);
  const none = await audit(t, "export", "--format", "ocsf", "--after", last);
  assert.deepEqual([none.code, none.stdout], [0, ""]);
});

test("[ours.stream.export] an invalid format or position is a usage error", async (t) => {
  for (const [words, fault] of [
    [["--format", "json"], /--format must be log, cloudevents or ocsf/],
    [["--after", "7"], /--after requires --format/],
    [["--format", "ocsf", "--after", "-1"], /--after/],
    [["--format", "ocsf", "--after", "x"], /--after must be a position/],
    [["--format", "ocsf", "--after", "1", "--since", "2026-01-31"], /not both/],
  ] as const) {
    const { code, stderr } = await audit(t, "export", ...words);
    assert.equal(code, 2, stderr);
    assert.match(stderr, fault);
  }
});
