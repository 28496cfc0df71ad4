/**
 * The analysis of calls against the programs that run what they preview: bash, SQLite, curl
 * and Python. It never claims less than the program does; without a result nothing is claimed.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { domainToASCII } from "node:url";
import { parseJson } from "@countersign/protocol";
import fc from "fast-check";
import { splitShell } from "../../packages/review-api/src/calls/shell.ts";
import { readSql } from "../../packages/review-api/src/calls/sql.ts";
import { hostsIn } from "../../packages/review-api/src/calls/urls.ts";
import { readCorpus } from "./inputs.ts";
import { SHELL_TOKENS, SQL_TOKENS, URL_TOKENS } from "./preview-tokens.ts";
import type { Target } from "./targets.ts";

const CPU_MS_MAX = 2_000;
const RUN_MS_MAX = 20_000;

function oneOf(target: string, grammar: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const corpus = fc.constantFrom(...readCorpus(target));
  return fc.oneof({ weight: 9, arbitrary: grammar }, { weight: 1, arbitrary: corpus });
}

function sequencesOf(tokens: readonly string[], lengthMax: number): fc.Arbitrary<string> {
  return fc
    .array(fc.constantFrom(...tokens), { minLength: 1, maxLength: lengthMax })
    .map((all) => all.join(""));
}

// Shell commands against bash. --------------------------------------------------------------------

/** Commands with operators between them, of which more have a preview. */
const shellCommands: fc.Arbitrary<string> = fc.oneof(
  sequencesOf(SHELL_TOKENS, 14),
  fc
    .array(
      fc.tuple(
        fc.constantFrom("a ", "b ", "x=1 c ", "(a) ", "", "a <b "),
        sequencesOf(SHELL_TOKENS, 3),
        fc.constantFrom("&&", "||", " | ", "; ", " &", "\n", "|&"),
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((all) => all.flat().join("")),
);

const BASH = `
command_not_found_handle() { return "$STATUS"; }
trap 'printf "%s\\0" "$BASH_COMMAND" >&3' DEBUG
eval "$1"
trap - DEBUG
wait`;

/** @returns the commands that bash started in its main shell, as bash writes them */
async function runBash(command: string, status: 0 | 1): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "preview-"));
  try {
    const env = { PATH: "/nonexistent", STATUS: String(status) };
    const child = spawn("/bin/bash", ["--norc", "--noprofile", "-c", BASH, "bash", command], {
      cwd: folder,
      env,
      stdio: ["ignore", "ignore", "ignore", "pipe"],
      timeout: RUN_MS_MAX,
    });
    const output = child.stdio[3] as NodeJS.ReadableStream;
    let text = "";
    for await (const chunk of output) text += chunk;
    // The first is the eval, the last removes the trap.
    const all = text.split("\0").slice(1, -1);
    return all.filter((one) => one !== "trap - DEBUG");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function checkShell(command: string): Promise<void> {
  const pieces = splitShell(command);
  if (pieces === undefined) return;
  const shown = new Set<string>();
  for (const { kind, text } of pieces) {
    if (kind === "joint") continue;
    const alone = await runBash(text, 0);
    assert.ok(alone.length <= 1, `one piece ${JSON.stringify(text)} runs ${alone.join(" and ")}`);
    for (const one of alone) shown.add(one);
  }
  for (const status of [0, 1] as const) {
    for (const ran of await runBash(command, status)) {
      const isShown = shown.has(ran) || (command.includes("|&") && shown.has(ran.slice(0, -5)));
      assert.ok(isShown, `bash runs ${ran}, which is not a piece`);
    }
  }
}

// SQL against SQLite. -----------------------------------------------------------------------------

interface Effect {
  readonly verbs: readonly string[];
  readonly hasNoWhere: boolean;
}

/** Runs a text on a table of five rows. The preview must claim one of the returned verbs. */
function runSqlite(text: string): Effect[] {
  const database = new DatabaseSync(":memory:");
  database.exec("create table t (id integer primary key, n)");
  database.exec("insert into t values (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)");
  try {
    database.exec(text);
  } catch {
    // The statements before the faulty one have run.
  }
  try {
    const tables = database.prepare("select name from sqlite_schema").all();
    const names = tables.map(({ name }) => name);
    const effects: Effect[] = [];
    const add = (hasNoWhere: boolean, ...verbs: string[]) => effects.push({ verbs, hasNoWhere });
    if (names.some((name) => name !== "t")) add(false, "CREATE", "ALTER");
    if (!names.includes("t")) add(false, "DROP", "ALTER");
    else {
      const rows = database.prepare("select id, n from t").all();
      const old = rows.filter(({ id }) => Number(id) <= 5);
      if (rows.length > old.length) add(false, "INSERT", "REPLACE");
      if (old.length === 0) add(true, "DELETE", "DROP", "ALTER");
      if (old.length > 1 && old.every(({ n }) => n === 9)) add(true, "UPDATE");
    }
    return effects;
  } finally {
    database.close();
  }
}

function checkSql(text: string): void {
  const claimed = readSql(text);
  // A condition that is true for every row is a WHERE as well.
  if (
    claimed === undefined ||
    / or 1|where(?! 0| n = 99| exists)/.test(text.replaceAll(HIDDEN, ""))
  ) {
    return;
  }
  for (const { verbs, hasNoWhere } of runSqlite(text)) {
    const found = claimed.filter(({ verb }) => verbs.includes(verb));
    assert.ok(found.length > 0, `does ${verbs.join(" or ")}, claims ${JSON.stringify(claimed)}`);
    const isReported = !hasNoWhere || found.some(({ hasWhere }) => !hasWhere);
    assert.ok(isReported, `changes every row, claims ${JSON.stringify(claimed)}`);
  }
}

/** Words that are names or comments to SQLite and not conditions. */
const HIDDEN = /[@$:.[\]"`' ]where|as where|\u00a0where|\u200bwhere|😀where|1where/g;

// Addresses against curl and Python. --------------------------------------------------------------

const PYTHON = `
import sys, json
from urllib.parse import urlsplit
for line in sys.stdin:
    try:
        print(json.dumps(urlsplit(json.loads(line)).hostname), flush=True)
    except ValueError:
        print("null", flush=True)
`;

interface Clients {
  readonly proxy: Server;
  readonly port: number;
  readonly hosts: Set<string>;
  /** @returns the host that Python reads, or null */
  python(address: string): Promise<string | null>;
  close(): void;
}

let clients: Promise<Clients> | undefined;

async function startClients(): Promise<Clients> {
  const hosts = new Set<string>();
  const proxy = createServer(({ url = "" }, response) => {
    hosts.add(/^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? url);
    response.end();
  });
  proxy.on("connect", ({ url = "" }, socket) => {
    hosts.add(url);
    socket.destroy();
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const child = spawn("python3", ["-c", PYTHON], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    proxy,
    port: (proxy.address() as AddressInfo).port,
    hosts,
    async python(address) {
      child.stdin.write(`${JSON.stringify(address.toWellFormed())}\n`);
      const { value } = await lines.next();
      return JSON.parse(String(value)) as string | null;
    },
    close() {
      proxy.close();
      proxy.closeAllConnections();
      child.stdin.end();
    },
  };
}

/** @returns what a program wrote */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const env = { PATH: "/nonexistent", LC_ALL: "C.UTF-8" };
  const options = { cwd: tmpdir(), env, timeout: RUN_MS_MAX };
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "ignore"] });
  let text = "";
  for await (const chunk of child.stdout) text += chunk;
  return text;
}

/** The hosts that curl and Python read in an address, without their ports. */
async function hostsOfClients(address: string): Promise<string[]> {
  clients ??= startClients();
  const { port, hosts, python } = await clients;
  hosts.clear();
  const proxy = ["--proxy", `http://127.0.0.1:${port}`, "--noproxy", "", "--max-time", "10"];
  const rest = ["--proto", "=http,https,ftp", "--output", "/dev/null", "--url", address];
  await outputOf("/usr/bin/curl", ["--silent", ...proxy, ...rest]);
  const found = [...hosts];
  const read = await python(address);
  // Its HTTP client refuses a host with a space.
  if (read !== null && /^\S+$/.test(read)) found.push(read.includes(":") ? `[${read}]` : read);
  return found.map(nameOf);
}

function nameOf(host: string): string {
  const name = host.toLowerCase().replace(/:\d*$/, "");
  return (domainToASCII(name) || name).replace(/\.$/, "");
}

async function checkClients(claimed: string, address: string, text: string): Promise<void> {
  const hosts = hostsIn(parseJson(JSON.stringify({ [claimed]: text })));
  if (hosts.length === 0 || hosts.some(({ host }) => host === undefined)) return;
  const shown = hosts.map(({ host = "" }) => nameOf(host));
  for (const host of await hostsOfClients(address)) {
    assert.ok(shown.includes(host), `${JSON.stringify(address)}: ${host}, claims ${shown.join()}`);
  }
}

const SHELL_ARGUMENTS = `curl() { printf '%s\\0' "$@"; }; eval "$1"`;

async function checkUrls(input: string): Promise<void> {
  const text = input.toWellFormed();
  // Addresses without a scheme are not claimed.
  if (/^\s*[a-z][a-z0-9+.-]*:/i.test(text)) await checkClients("url", text, text);
  const command = `curl ${text}`;
  const hosts = hostsIn(parseJson(JSON.stringify({ command })));
  if (hosts.length === 0 || hosts.some(({ host }) => host === undefined)) return;
  // A restricted shell: no redirections, no programs.
  const output = await outputOf("/bin/bash", ["-r", "-c", SHELL_ARGUMENTS, "bash", command]);
  for (const argument of output.split("\0").slice(0, -1)) {
    if (/^\s*[a-z]+:/i.test(argument)) await checkClients("command", argument, command);
  }
}

export const PREVIEW_TARGETS: readonly Target[] = [
  {
    name: "preview-shell",
    inputs: oneOf("preview-shell", shellCommands),
    check: checkShell,
    slowMs: CPU_MS_MAX,
  },
  {
    name: "preview-sql",
    inputs: oneOf("preview-sql", sequencesOf(SQL_TOKENS, 8)),
    check: checkSql,
  },
  {
    name: "preview-urls",
    inputs: oneOf("preview-urls", sequencesOf(URL_TOKENS, 10)),
    check: checkUrls,
    slowMs: CPU_MS_MAX,
    async end() {
      (await clients)?.close();
      clients = undefined;
    },
  },
];
