// Tier: slow
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  cpSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, type TestContext } from "node:test";
import { Agent, type Answer, exchange, makeToken, newAgent } from "@countersign/testing/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import { testOnly } from "./support/engine.ts";

const test = testOnly("sqlite", "a file of SQLite is damaged");

const PAGE_BYTES = 4096;
/** Neither the beginning of a file nor of a page that SQLite knows. */
const NOISE = new Uint8Array(PAGE_BYTES).fill(0xa5);
const REQUESTS = 120;

const file = fileOwner();

/** A data folder as a stopped server left it; every test damages a copy. */
let sound: string;
let token: string;
/** The answer that the agent received for each request, by its key. */
const answers = new Map<string, Answer<{ id: string }>>();

const fieldsOf = (key: string) => ({ tool: key, arguments: { key, filler: "x".repeat(900) } });

before(async () => {
  const server = await startServer(file);
  const agent = await newAgent(server);
  for (let number = 0; number < REQUESTS; number++) {
    const key = `key-${number}`;
    answers.set(key, await agent.post(key, fieldsOf(key)));
  }
  await server.stop();
  sound = server.data;
  token = agent.token;
});

function copyOfSound(t: TestContext): { data: string; database: string } {
  const data = join(temporaryFolder(t), "data");
  cpSync(sound, data, { recursive: true });
  return { data, database: join(data, "countersign.db") };
}

function overwrite(path: string, at: number, bytes: Uint8Array): void {
  const descriptor = openSync(path, "r+");
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
}

const MIDDLE = 20 * PAGE_BYTES;

/** Where requests are; a page in the middle may be free, and a check does not read free pages. */
function requestsAt(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  const sql = "select rootpage from sqlite_schema where name = 'request'";
  const page = Number(database.prepare(sql).get()?.rootpage);
  database.close();
  return (page - 1) * PAGE_BYTES;
}

interface Damage {
  readonly damage: (database: string, data: string) => void;
  readonly says: RegExp;
}

const DAMAGES: Readonly<Record<string, Damage>> = {
  "with an overwritten header": {
    damage: (database) => overwrite(database, 0, NOISE.subarray(0, 100)),
    says: /countersign\.db cannot be opened: file is not a database/,
  },
  "with an overwritten schema": {
    damage: (database) => overwrite(database, 100, NOISE.subarray(100)),
    says: /countersign\.db cannot be opened: database disk image is malformed/,
  },
  "with a page of noise in its middle": {
    damage: (database) => overwrite(database, MIDDLE, NOISE),
    says: /countersign\.db is damaged: .*page 21/,
  },
  "with a page of zeros in its middle": {
    damage: (database) => overwrite(database, MIDDLE, new Uint8Array(PAGE_BYTES)),
    says: /countersign\.db is damaged: .*page 21/,
  },
  "that is cut off after whole pages": {
    damage: (database) => truncateSync(database, MIDDLE),
    says: /countersign\.db cannot be opened: database disk image is malformed/,
  },
  "that is cut off within a page": {
    damage: (database) => truncateSync(database, MIDDLE + 77),
    says: /countersign\.db cannot be opened: database disk image is malformed/,
  },
  "that is cut off to nothing": {
    damage: (database) => truncateSync(database, 0),
    says: /countersign\.db is damaged: it is empty/,
  },
  "that is another kind of file": {
    damage: (database) => writeFileSync(database, "once upon a time, ".repeat(1_000)),
    says: /countersign\.db cannot be opened: file is not a database/,
  },
  "of a newer program": {
    damage: (database) =>
      execute(database, "update schema_version set version = 999, oldest_program = 999"),
    says: /the database has schema 999, .* use a newer version of countersign/,
  },
  "beside the secret key of another": {
    damage: (_, data) =>
      writeFileSync(join(data, "secret.key"), randomBytes(32).toString("base64")),
    says: /the secret key \(\w{8}\) differs from the key of this database \(\w{8}\)/,
  },
  "beside a secret key that is cut off": {
    damage: (_, data) => truncateSync(join(data, "secret.key"), 20),
    says: /secret\.key must be 32 bytes in base64/,
  },
  "beside a secret key that is empty": {
    damage: (_, data) => truncateSync(join(data, "secret.key"), 0),
    says: /secret\.key must be 32 bytes in base64/,
  },
  "without its secret key": {
    damage: (_, data) => rmSync(join(data, "secret.key")),
    says: /secret\.key is missing: restore the file that belongs to this database/,
  },
  "beside an invalid lock file": {
    damage: (_, data) => writeFileSync(join(data, "server.lock"), NOISE),
    says: /server\.lock cannot be locked: file is not a database/,
  },
};

function execute(database: string, sql: string): void {
  const connection = new DatabaseSync(database);
  connection.exec(sql);
  connection.close();
}

/** Refused with one line, exit code 1, and not a byte of the database changed. */
async function assertRefused(t: TestContext, data: string, says: RegExp): Promise<void> {
  const database = join(data, "countersign.db");
  const bytes = readFileSync(database);
  const args = ["serve", "--port", "0", "--data", data];
  const { code, stdout, stderr } = await countersign(t, args);
  assert.deepEqual([code, stdout], [1, ""], stderr);
  assert.match(stderr, /^countersign: [^\n]+\n$/);
  assert.match(stderr, says);
  assert.ok(readFileSync(database).equals(bytes), "the refused start has changed the database");
}

for (const [what, { damage, says }] of Object.entries(DAMAGES)) {
  test(`[ours.operations.damaged-file] a database ${what} is rejected with one clear line and left unchanged`, async (t) => {
    const { data, database } = copyOfSound(t);
    damage(database, data);
    await assertRefused(t, data, says);
  });
}

test("[ours.operations.damaged-file] no new secret key is made beside a database that has lost its own", async (t) => {
  const { data } = copyOfSound(t);
  rmSync(join(data, "secret.key"));
  await assertRefused(t, data, /is missing/);
  assert.throws(() => statSync(join(data, "secret.key")), { code: "ENOENT" });
});

test("[ours.operations.damaged-file] the commands beside the server refuse a damaged database as clearly", async (t) => {
  const { data, database } = copyOfSound(t);
  overwrite(database, 0, NOISE.subarray(0, 100));
  const target = join(data, "copy.db");
  const commands = [
    ["tokens", "list"],
    ["tokens", "create", "reviewer", "--name", "me"],
    ["backup", target],
  ];
  for (const args of commands) {
    const { code, stdout, stderr } = await countersign(t, [...args, "--data", data]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^countersign: [^\n]+ file is not a database\n$/);
  }
});

test("[ours.operations.damaged-file] backup of a database with a damaged page fails and writes no copy", async (t) => {
  const { data, database } = copyOfSound(t);
  overwrite(database, requestsAt(database), NOISE);
  const target = join(data, "copy.db");
  const { code, stderr } = await countersign(t, ["backup", target, "--data", data]);
  assert.equal(code, 1);
  assert.match(stderr, /^countersign: the backup failed: [^\n]+\n$/);
  assert.deepEqual(
    readdirSync(data).filter((name) => name.startsWith("copy.db")),
    [],
  );
});

test("[ours.operations.damaged-file] a copy that is put back in place of the damaged file is served", async (t) => {
  const { data, database } = copyOfSound(t);
  overwrite(database, 0, NOISE.subarray(0, 100));
  await assertRefused(t, data, /cannot be opened/);
  rmSync(database);
  cpSync(join(sound, "countersign.db"), database);
  const server = await startServer(t, { data });
  const agent = new Agent(server.url, token);
  for (const answer of answers.values()) {
    assert.equal((await agent.get(answer.json.id)).text, answer.text);
  }
});

/** Every answer is either the earlier answer or a 503 in the envelope. */
async function assertNothingInvented(server: Server, reviewer: string): Promise<void> {
  const agent = new Agent(server.url, token);
  const statuses = new Set<number>();
  const sound = (answer: Answer, expected: string): void => {
    statuses.add(answer.status);
    if (answer.status === 200) assert.equal(answer.text, expected);
    else assert.deepEqual([answer.status, codeOf(answer)], [503, "unavailable"], answer.text);
  };
  for (const [key, answer] of answers) {
    sound(await agent.get(answer.json.id), answer.text);
    sound(await agent.post(key, fieldsOf(key)), answer.text);
  }
  assert.ok(statuses.has(503), "nothing that was asked for was damaged");
  const list = await exchange("GET", `${server.url}/review/v1/requests?limit=200`, reviewer);
  assert.deepEqual([list.status, codeOf(list)], [503, "unavailable"]);
  const fresh = await agent.post("fresh", fieldsOf("fresh"));
  assert.ok(fresh.status === 201 || fresh.status === 503, fresh.text);
  assert.equal((await exchange("GET", `${server.url}/healthz`)).status, 200);
}

test("[ours.operations.damaged-file] a flipped bit that SQLite does not detect returns 503, and other requests still work", async (t) => {
  const { data, database } = copyOfSound(t);
  const bytes = readFileSync(database);
  const place = bytes.indexOf('"key":"key-7","filler":"xxx');
  assert.ok(place > 0);
  bytes[place + 25] = "y".charCodeAt(0);
  writeFileSync(database, bytes);
  const server = await startServer(t, { data });
  const agent = new Agent(server.url, token);

  const damaged = await agent.get(answers.get("key-7")?.json.id ?? "");
  assert.deepEqual([damaged.status, codeOf(damaged)], [503, "unavailable"]);
  const sound = answers.get("key-8");
  assert.equal((await agent.get(sound?.json.id ?? "")).status, 200);
  const { stdout } = await server.stop();
  assert.match(stdout, /the stored request [0-9a-f-]{36} is damaged/);
});

function codeOf({ json }: Answer): string | undefined {
  return (json as { error?: { code: string } }).error?.code;
}

const PATTERNS: Readonly<Record<string, (page: number) => Uint8Array | undefined>> = {
  "every page is overwritten with noise": () => NOISE,
  "every page is overwritten with zeros": () => new Uint8Array(PAGE_BYTES),
  "every other page is overwritten": (page) => {
    return page % 2 === 0 ? undefined : new Uint8Array(PAGE_BYTES).fill(0xff);
  },
};

for (const [what, bytesOf] of Object.entries(PATTERNS)) {
  test(`[ours.operations.damaged-file] while the server runs and ${what}, it returns correct answers or 503, and stops normally`, async (t) => {
    const { data, database } = copyOfSound(t);
    const reviewer = await makeToken(data, { kind: "reviewer" });
    const server = await startServer(t, { data });
    // Credentials are read before the damage, but no requests.
    const someone = new Agent(server.url, token);
    assert.equal((await someone.get("01a1fb6b-6ba3-7554-8ce5-a39d503b8141")).status, 404);
    const list = `${server.url}/review/v1/requests?state=decided`;
    assert.equal((await exchange("GET", list, reviewer)).status, 200);

    const pages = statSync(database).size / PAGE_BYTES;
    for (let page = 2; page <= pages; page++) {
      const bytes = bytesOf(page);
      if (bytes !== undefined) overwrite(database, (page - 1) * PAGE_BYTES, bytes);
    }

    await assertNothingInvented(server, reviewer);
    const { stdout } = await server.stop();
    assert.doesNotMatch(stdout, /"bug\.found"/);
    assert.match(stdout, /"event":"dependency\.failed","dependency":"store"/);
    await assertRefused(t, data, /countersign\.db (is damaged|cannot be opened)/);
  });
}
