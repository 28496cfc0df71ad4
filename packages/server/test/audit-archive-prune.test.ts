import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { FindingError } from "../src/audit/finding.ts";
import { UNSEALED_MS_MAX } from "../src/audit/verify-log.ts";
import { exportLog, type LogArchive } from "../src/index.ts";
import { pruneLog } from "../src/maintenance/prune-log.ts";
import { verifyArchivedPart } from "../src/maintenance/verify-archived-part.ts";
import { archiveAll, filesIn, verifyWith } from "./support/audit-archive.ts";
import { logOf, storeOf, tamper, untilSealed } from "./support/audit-logs.ts";
import {
  countUnsent,
  eventsOf,
  startStreamScene,
  untilStreamed,
} from "./support/audit-stream-scene.ts";
import { approve, newSigner } from "./support/passkeys.ts";
import { policySaying, publish, startPolicyScene } from "./support/publishing.ts";
import { submitRequiring } from "./support/requirements.ts";
import { type Scene, startScene } from "./support/scene.ts";

const REQUESTS = 150;

async function submitMany(scene: Scene, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const { id } = await scene.server.submit(scene.instance.token);
    await scene.server.decide(scene.reviewer, id, "approve");
    ids.push(id);
    if (i % 40 === 0) await untilSealed(scene);
  }
  await untilSealed(scene);
  return ids;
}

async function assertValid(scene: Scene, archive?: string): Promise<void> {
  assert.equal((await verifyWith(scene, archive)).finding, undefined);
}

async function countPrunes(scene: Scene): Promise<number> {
  const sql = "select count(*) as n from audit_entry where kind = 'audit.pruned'";
  return Number((await storeOf(scene).get(sql))?.n);
}

async function startFilled(t: TestContext) {
  const scene = await startScene(t);
  const ids = await submitMany(scene, REQUESTS);
  return { scene, ids, directory: temporaryFolder(t) };
}

test("[ours.audit-archive.prune] a prune that stops before or after a slice leaves a valid log, and the next run completes it", async (t) => {
  const { scene, directory } = await startFilled(t);
  for (let stop = 0; stop < 2; stop++) {
    let steps = 0;
    const onProgress = (what: string) => {
      if (what !== "archive" && steps++ === stop) throw new Error("the process stops");
    };
    await assert.rejects(archiveAll(scene, { directory, prunes: true, onProgress }), /stops/);
    await untilSealed(scene);
    await assertValid(scene);
    await assertValid(scene, directory);
  }
  const { pruned, size } = await logOf(scene);
  assert.ok(pruned > 0 && pruned < size - 50, `${pruned} of ${size}`);
  assert.equal(await countPrunes(scene), 1);
  // The entry allows more than what is deleted, but no other cut than that of the last slice.
  const move = "update audit_log set pruned = pruned + $1 where pruned > 0";
  await tamper(scene, move, 1);
  assert.equal((await verifyWith(scene)).finding?.fault, "entry");
  await tamper(scene, move, -1);
  const archives = await archiveAll(scene, { directory, prunes: true });
  const mine = archives.find(({ project }) => project === "default");
  assert.ok(mine && mine.pruned.to > pruned);
  await untilSealed(scene);
  await assertValid(scene);
  await assertValid(scene, directory);
});

const PRUNE_ALL = { before: Number.MAX_SAFE_INTEGER, sinks: [], without: [] };

/** Archives a log in two files. */
async function startTwoFiles(t: TestContext) {
  const scene = await startScene(t);
  const directory = temporaryFolder(t);
  await submitMany(scene, 3);
  await archiveAll(scene, { directory });
  await submitMany(scene, 3);
  const archives = await archiveAll(scene, { directory });
  const mine = archives.find(({ project }) => project === "default") as LogArchive;
  const { folder, files, kept } = mine;
  const [first = "", second = ""] = filesIn(folder);
  return { scene, directory, files, kept, first, second };
}

test("[ours.audit-archive.prune] entries are deleted only if the archive has all files from the cut on", async (t) => {
  const { scene, directory, files, kept, first } = await startTwoFiles(t);
  const log = await logOf(scene);
  const [{ to } = { to: 0 }, ...later] = files;
  const missing = new RegExp(`no archive file has the entries 0 to ${to - 1}: copy`);
  const moved = join(temporaryFolder(t), "moved");
  renameSync(first, moved);
  await assert.rejects(archiveAll(scene, { directory }), missing);
  const options = { ...PRUNE_ALL, archived: { files: later, kept } };
  await assert.rejects(pruneLog(storeOf(scene), log, options), missing);
  assert.equal(await countPrunes(scene), 0);

  renameSync(moved, first);
  const onProgress = (what: string) => {
    if (what !== "archive") throw new Error("the process stops");
  };
  await assert.rejects(archiveAll(scene, { directory, prunes: true, onProgress }), /stops/);
  assert.equal(await countPrunes(scene), 1);
  await assert.rejects(pruneLog(storeOf(scene), log, options), missing);
  assert.equal((await logOf(scene)).pruned, 0);
  await archiveAll(scene, { directory, prunes: true });
  assert.ok((await logOf(scene)).pruned > to);
  await assertValid(scene, directory);
});

test("[ours.audit-archive.prune] a file that changes after its verification stops a prune before the next deletion", async (t) => {
  const { scene, directory, files, kept, first, second } = await startTwoFiles(t);
  const log = await logOf(scene);
  const changed = (file: string) => new RegExp(`${file} changed after its verification`);
  const options = { ...PRUNE_ALL, archived: { files, kept } };
  const content = readFileSync(first);
  appendFileSync(first, "x");
  await assert.rejects(pruneLog(storeOf(scene), log, options), changed(first));
  assert.equal(await countPrunes(scene), 0);
  writeFileSync(first, content);
  const onProgress = () => {
    throw new Error("the process stops");
  };
  await assert.rejects(pruneLog(storeOf(scene), log, { ...options, onProgress }), /stops/);
  assert.equal(await countPrunes(scene), 1);
  appendFileSync(second, "x");
  await assert.rejects(pruneLog(storeOf(scene), log, options), changed(second));
  assert.equal((await logOf(scene)).pruned, 0);
  writeFileSync(second, readFileSync(second).subarray(0, -1));
  assert.equal(await pruneLog(storeOf(scene), log, options), files.at(-1)?.to);
  await untilSealed(scene);
  await assertValid(scene);
  await assertValid(scene, directory);
});

test("[ours.audit-archive.prune] files that disappear during a prune stop it before the next slice, and a loss during the last slice is an error", async (t) => {
  const { scene, directory } = await startFilled(t);
  const away = join(temporaryFolder(t), "away");
  for (const stopsAt of ["first", "last"]) {
    const before = (await logOf(scene)).pruned;
    const { size } = await logOf(scene);
    const onProgress = (what: string) => {
      const position = Number(/\d+$/.exec(what)?.[0] ?? 0);
      const isLast = position >= size - 1;
      const isDue = stopsAt === "first" ? position > before : isLast;
      if (what !== "archive" && isDue && existsSync(directory)) renameSync(directory, away);
    };
    await assert.rejects(
      archiveAll(scene, { directory, prunes: true, onProgress }),
      /is missing: copy/,
    );
    const { pruned } = await logOf(scene);
    if (stopsAt === "first") assert.ok(pruned > 0 && pruned < size - 50, `${pruned} of ${size}`);
    renameSync(away, directory);
  }
  await archiveAll(scene, { directory, prunes: true });
  await untilSealed(scene);
  await assertValid(scene, directory);
});

test("[ours.audit-archive.prune] an entry that stays, but was removed after it was archived, stops a prune", async (t) => {
  const scene = await startPolicyScene(t);
  const directory = temporaryFolder(t);
  for (const number of [0, 1]) {
    const draft = policySaying("ask", `x${number}.*`);
    assert.equal((await publish(scene.server, scene.editor, draft, number)).status, 201);
  }
  await submitMany(scene, 3);
  await archiveAll(scene, { directory });
  const row = await storeOf(scene).get(
    "select * from audit_entry where kind = 'policy.published' order by id desc limit 1",
  );
  assert.ok(row);
  await tamper(scene, "delete from audit_entry where id = $1", row.id ?? "");
  await assert.rejects(
    archiveAll(scene, { directory, prunes: true }),
    /policy\.published are missing or were altered: run countersign audit verify/,
  );
  const log = await logOf(scene);
  assert.equal(log.pruned, 0);
  const places = Object.keys(row).map((_, i) => `$${i + 1}`);
  const insert = `insert into audit_entry (${Object.keys(row)}) values (${places})`;
  await tamper(scene, insert, ...Object.values(row));
  await archiveAll(scene, { directory, prunes: true });
  await untilSealed(scene);
  await assertValid(scene, directory);

  await tamper(scene, "delete from audit_entry where id = $1", row.id ?? "");
  const verifier = { name: log.origin, publicKey: log.publicKey };
  const pruned = await logOf(scene);
  await assert.rejects(
    verifyArchivedPart(storeOf(scene), pruned, { directory, verifier, passkeys: new Set() }),
    (error) => error instanceof FindingError && error.finding.id === row.id,
  );
});

test("[ours.audit-archive.files] the files of a killed run are removed after a day, and do not count as an archive", async (t) => {
  const scene = await startScene(t);
  await submitMany(scene, 2);
  const directory = temporaryFolder(t);
  const [first] = await archiveAll(scene, { directory });
  const folder = first?.folder ?? "";
  const [left, live] = [join(folder, "7.partial.gz"), join(folder, "8.partial.gz")];
  for (const partial of [left, live]) writeFileSync(partial, "half a file");
  const longAgo = Date.now() / 1000 - 25 * 3600;
  utimesSync(left, longAgo, longAgo);
  await submitMany(scene, 1);
  await archiveAll(scene, { directory });
  assert.deepEqual([existsSync(left), existsSync(live)], [false, true]);
  assert.equal(filesIn(folder).length, 2);
  assert.equal(readdirSync(folder).length, 4, "two files, the public key and the live file");
  await assertValid(scene, directory);
});

test("[ours.audit-archive.files] another key in the folder of a log stops a run, and a removed key is written again", async (t) => {
  const scene = await startScene(t);
  await submitMany(scene, 1);
  const directory = temporaryFolder(t);
  const archives = await archiveAll(scene, { directory });
  const folder = archives.find(({ project }) => project === "default")?.folder ?? "";
  const file = join(folder, "log.key");
  const key = readFileSync(file, "utf8");
  for (const other of ["", key.slice(0, -4), key.replace("audit", "Audit")]) {
    writeFileSync(file, other);
    await assert.rejects(archiveAll(scene, { directory }), /log\.key is not the public key/);
    assert.equal(readFileSync(file, "utf8"), other);
  }
  rmSync(file);
  await archiveAll(scene, { directory });
  assert.equal(readFileSync(file, "utf8"), key);
  assert.equal(readdirSync(folder).length, 2, "one file and the public key");
});

test("[ours.audit-archive.prune] a stream that lags blocks a prune until it has sent the entries, or is declared unused", async (t) => {
  const scene = await startStreamScene(t);
  scene.answer = (_, response) => void response.writeHead(503).end();
  await submitMany(scene, 3);
  const directory = temporaryFolder(t);
  const steps = { directory, prunes: true, sinks: ["http"] } as const;
  await assert.rejects(archiveAll(scene, steps), /stream to http has sent 0 of \d+ entries/);
  assert.equal((await logOf(scene)).pruned, 0);
  assert.equal(await countPrunes(scene), 0);
  await archiveAll(scene, { ...steps, without: ["http"] });
  assert.ok((await logOf(scene)).pruned > 0);
  await assertValid(scene, directory);
});

test("[ours.audit-archive.prune] a new stream of a pruned log starts at its cut", async (t) => {
  const scene = await startStreamScene(t);
  const sent = async () => (await countUnsent(scene, "http")) === 0;
  await submitMany(scene, 3);
  await untilStreamed(scene, sent, "all entries are sent");
  await archiveAll(scene, { directory: temporaryFolder(t), prunes: true, sinks: ["http"] });
  await untilStreamed(scene, sent, "the entry about the prune is sent");
  const { pruned, size, origin } = await logOf(scene);
  const before = scene.collector.requests.length;
  await tamper(scene, "delete from audit_stream");
  await untilStreamed(scene, sent, "all entries are sent again");
  const positions = scene.collector.requests
    .slice(before)
    .flatMap(eventsOf)
    .filter(({ source }) => source.endsWith(origin))
    .map(({ sequence }) => Number(sequence));
  assert.deepEqual([positions[0], positions.length], [pruned, size - pruned]);
});

test("[ours.audit-archive.prune] passkeys and policy versions are still compared after a prune of all logs", async (t) => {
  const scene = await startScene(t);
  const ana = await newSigner(scene.server, { login: "ana@example.com" });
  const old = await submitRequiring(scene, { confirm: { kind: "passkey" } });
  await approve(scene.server, ana, old.id);
  await submitMany(scene, REQUESTS);
  const directory = temporaryFolder(t);
  await archiveAll(scene, { directory, prunes: true });
  const { id } = await submitRequiring(scene, { confirm: { kind: "passkey" } });
  assert.equal((await approve(scene.server, ana, id)).status, 200);
  await untilSealed(scene);
  await assertValid(scene);
  await assertValid(scene, directory);
  const store = storeOf(scene);
  await store.transact((tx) => tx.run("delete from audit_entry where kind = 'passkey.added'"));
  assert.equal((await verifyWith(scene)).finding?.fault, "missing");
});

test("[ours.audit-archive.verify] a row that returns after a prune is a finding, or a late entry without the archive if its seal is pruned", async (t) => {
  const { scene, directory } = await startFilled(t);
  const { projectId } = await logOf(scene);
  const rows = await storeOf(scene).all(
    `select * from audit_entry where project_id = $1 and kind = 'request.opened' order by id`,
    [projectId],
  );
  await archiveAll(scene, { directory, prunes: true });
  await submitMany(scene, 1);
  await assertValid(scene, directory);
  const find = async (archive?: string) => {
    const { finding, logs } = await verifyWith(scene, archive);
    const { late } = logs.find(({ project }) => project === "default") ?? {};
    return { late, fault: finding?.fault, id: finding?.id, message: finding?.message };
  };
  const nothing = { fault: undefined, id: undefined, message: undefined };
  const message = "it was pruned, but the database has it again";
  assert.deepEqual(await find(), { ...nothing, late: 0 });

  scene.clock.advance(2 * UNSEALED_MS_MAX);
  for (const [row = {}, alone] of [
    [rows[0], { ...nothing, late: 1 }],
    [rows.at(-1), { late: 0, fault: "entry", id: rows.at(-1)?.id, message }],
  ] as const) {
    const values = Object.keys(row).map((_, i) => `$${i + 1}`);
    const insert = `insert into audit_entry (${Object.keys(row)}) values (${values})`;
    await tamper(scene, insert, ...Object.values(row));
    await untilSealed(scene);
    assert.deepEqual(await find(), alone);
    const { fault, id } = await find(directory);
    assert.deepEqual([fault, id], ["entry", row.id]);
  }
});

test("[ours.audit-archive.prune] the reviewer API of a pruned log ends at its cut", async (t) => {
  const { scene, ids, directory } = await startFilled(t);
  const { server } = scene;
  const token = await server.token({ kind: "reviewer", name: "auditor", role: "auditor" });
  const [requestId = ""] = ids;
  const subject = `request:${requestId}`;
  const store = storeOf(scene);
  const row = await store.get("select id from audit_entry where subject = $1", [subject]);
  await archiveAll(scene, { directory, prunes: true });
  await untilSealed(scene);
  const { pruned } = await logOf(scene);
  const list = await server.call<{ entries: unknown[]; next: null; pruned: number }>(
    "GET",
    `/review/v1/audit/entries?subject=${subject}`,
    { token },
  );
  assert.deepEqual(list.json, { entries: [], next: null, pruned });
  const proof = await server.call<{ error: { message: string } }>(
    "GET",
    `/review/v1/audit/entries/${row?.id}/proof`,
    { token },
  );
  assert.equal(proof.status, 404);
  assert.match(JSON.stringify(proof.json), /archive/);
  const checkpoint = await server.call<{ pruned: number }>("GET", "/review/v1/audit/checkpoint", {
    token,
  });
  assert.equal(checkpoint.json.pruned, pruned);
  const shown = await server.call("GET", `/review/v1/requests/${requestId}`, { token });
  assert.equal(shown.status, 200);
  const log = await logOf(scene);
  const exported = await Array.fromAsync(exportLog(store, log));
  assert.equal(JSON.parse(exported[0] ?? "").from, pruned);
  const early = await Array.fromAsync(exportLog(store, log, 0));
  assert.deepEqual(early, exported);
});
