/** Policy that takes two people, from the command line. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeToken } from "@countersign/testing/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { startServer } from "@countersign/testing/countersign";
import { main } from "../src/main.ts";

const file = fileOwner();
const server = await startServer(file);
const folder = temporaryFolder(file);
const ed = await makeToken(server.data, { kind: "reviewer", name: "Ed", role: "editor" });
const li = await makeToken(server.data, { kind: "reviewer", name: "Li", role: "admin" });

const TWO_FILE = join(folder, "two.yaml");
const DENY_FILE = join(folder, "deny.yaml");

const TWO = "version: 1\ntwo_person: true\nrules: []\n";
const DENY = `version: 1
rules:
  - id: no-drops
    match: { tool: db.drop }
    then: deny
tests:
  - given: { tool: db.drop, args: {} }
    expect: { then: deny, because: no-drops }
`;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process, for a script. */
async function command(...args: readonly string[]): Promise<Ran> {
  const [out, notes]: [string[], string[]] = [[], []];
  const code = await main(["policy", ...args], {
    isInteractive: false,
    hasScreen: false,
    columns: 200,
    rows: 24,
    out: (text) => void out.push(`${text}\n`),
    note: (text) => void notes.push(`${text}\n`),
    status: () => {},
    ask: () => assert.fail("the command must not ask"),
    askSecret: () => assert.fail("the command must not ask"),
  });
  return { code, stdout: out.join(""), stderr: notes.join("") };
}

function run(token: string, ...args: readonly string[]) {
  process.env.COUNTERSIGN_TOKEN = token;
  return command(...args, "--url", server.url);
}

/** @returns stdout of a command that is done */
function done({ code, stdout, stderr }: Ran): string {
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}

function proposedId(outcome: Ran): string {
  return /^Proposed as (\S+)\.\n$/.exec(done(outcome))?.[1] ?? assert.fail(outcome.stdout);
}

writeFileSync(TWO_FILE, TWO);
writeFileSync(DENY_FILE, DENY);

test("[ours.cli.policy.proposals] one person proposes, another publishes or rejects, and the author gets the reason", async () => {
  assert.match(done(await run(ed, "publish", TWO_FILE, "--yes")), /^Version 1 is active/);
  const alone = await run(ed, "publish", DENY_FILE, "--yes");
  assert.equal(alone.code, 1);
  assert.match(
    alone.stderr,
    /requires two people\. Propose it, and let another person publish it\.\n$/,
  );

  const proposed = await run(ed, "propose", DENY_FILE, "--note", "No drops.");
  const id = proposedId(proposed);
  assert.match(proposed.stderr, /added {4}no-drops\nOne person can publish after this version/);
  assert.match(
    done(await run(li, "proposals")),
    new RegExp(`^PROPOSAL .*\n${id} {2}open .* Ed {2}1 .* No drops\\.\n$`),
  );
  const shown = await run(li, "proposal", id);
  assert.equal(done(shown), DENY);
  assert.match(
    shown.stderr,
    /by Ed at .*: No drops\. .*\n.*version 1, its test passed, and is open/,
  );
  const own = await run(ed, "publish", "--proposal", id, "--yes");
  assert.equal(own.code, 1);
  assert.match(
    own.stderr,
    /countersign: Publishing .* Another person must publish your proposal\.\n$/,
  );
  assert.equal((await run(li, "publish", "--proposal", id)).code, 2);
  const published = await run(li, "publish", "--proposal", id, "--yes");
  assert.match(done(published), /^Version 2 is active/);

  const second = proposedId(await run(ed, "propose", "--restore", "1"));
  assert.equal(
    done(await run(li, "reject", second, "--note", "Not again.")),
    `Rejected ${second}.\n`,
  );
  assert.equal(done(await run(ed, "proposals")), "There are no open proposals.\n");
  const closed = JSON.parse(done(await run(ed, "proposals", "--closed", "--json")));
  const states = closed.map(({ state, reason }: Record<string, string>) => [state, reason]);
  assert.deepEqual(states, [
    ["rejected", "Not again."],
    ["published", undefined],
  ]);
});

test("[ours.cli.policy.release] on the machine of the data folder a proposal is published alone, beside the running server", async () => {
  done(await run(ed, "publish", TWO_FILE, "--yes"));
  const id = proposedId(await run(ed, "propose", DENY_FILE));
  const release = (...args: readonly string[]) =>
    command("release", id, "--data", server.data, ...args);
  assert.equal((await release("--project", "nowhere")).code, 1);
  assert.equal((await release("--floor")).code, 1);
  assert.match(
    done(await release()),
    /^Version 4 is active .* The audit log records who published it\.\n$/,
  );
  assert.equal(done(await run(ed, "show")), DENY);
  const [newest] = JSON.parse(done(await run(li, "history", "--limit", "1", "--json")));
  assert.deepEqual([newest.published_by, newest.proposer], ["operator:cli", "Ed"]);
});
