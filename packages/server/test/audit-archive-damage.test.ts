import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { temporaryFolder } from "@countersign/testing/child";
import { FindingError } from "../src/audit/finding.ts";
import type { LogArchive } from "../src/index.ts";
import { type ArchiveFile, listArchive } from "../src/maintenance/archive-files.ts";
import { verifyArchive } from "../src/maintenance/verify-archive.ts";
import { archiveAll, filesIn, verifyWith } from "./support/audit-archive.ts";
import { logOf, storeOf, tamper, untilSealed } from "./support/audit-logs.ts";
import { startScene } from "./support/scene.ts";

const scene = await startScene({ after });
const { server, instance, reviewer } = scene;
const store = storeOf(scene);
const directory = temporaryFolder({ after });

for (let i = 0; i < 150; i++) {
  const { id } = await server.submit(instance.token);
  await server.decide(reviewer, id, i % 2 === 0 ? "approve" : "deny");
  if (i % 40 === 0) await untilSealed(scene);
  // A second file.
  if (i === 75) await archiveAll(scene, { directory });
}
await untilSealed(scene);
const { projectId: project } = await logOf(scene);
const archives = await archiveAll(scene, { directory, prunes: true });
for (let i = 0; i < 3; i++) await server.submit(instance.token);
await untilSealed(scene);
const { folder, pruned } = archives.find((each) => each.project === "default") as LogArchive;
const [first = "", second = ""] = filesIn(folder);

async function faultOf(archive?: string): Promise<string | undefined> {
  return (await verifyWith(scene, archive)).finding?.fault;
}

async function assertValid(): Promise<void> {
  assert.equal(await faultOf(directory), undefined);
  assert.equal(await faultOf(), undefined);
}

/** Runs with another content of a file, and puts it back. */
async function withFile(
  file: string,
  content: Uint8Array | undefined,
  check: () => Promise<void>,
): Promise<void> {
  const before = readFileSync(file);
  if (content === undefined) rmSync(file);
  else writeFileSync(file, content);
  try {
    await check();
  } finally {
    writeFileSync(file, before);
  }
}

test("[ours.audit-archive.verify] one changed byte of an archived entry is found", async () => {
  await assertValid();
  const text = gunzipSync(readFileSync(first)).toString();
  const changed = gzipSync(text.replace('"status":"denied"', '"status":"denieD"'));
  await withFile(first, changed, async () => {
    assert.equal(await faultOf(directory), "altered");
    assert.equal(await faultOf(), undefined, "the database alone has no such entry");
  });
  await assertValid();
});

test("[ours.audit-archive.verify] each removed or shortened archive file is found", async () => {
  await withFile(first, undefined, async () => {
    assert.equal(await faultOf(directory), "missing");
  });
  await withFile(second, undefined, async () => {
    assert.equal(await faultOf(directory), "missing");
  });
  const lines = gunzipSync(readFileSync(second)).toString().trimEnd().split("\n");
  const shortened = gzipSync(`${lines.slice(0, -2).join("\n")}\n`);
  await withFile(second, shortened, async () => {
    assert.match((await faultOf(directory)) ?? "", /^(missing|altered)$/);
  });
  await assert.rejects(
    withFile(second, readFileSync(second).subarray(0, -9), async () => {
      await faultOf(directory);
    }),
    /cannot read .*: unexpected end of file/,
  );
  await assertValid();
});

test("[ours.audit-archive.verify] files that do not reach to a checkpoint are not valid with it", async () => {
  const { origin, publicKey } = await logOf(scene);
  const verifier = { name: origin, publicKey };
  const find = async (files: readonly ArchiveFile[], size: number) => {
    const older = { origin, size, root: new Uint8Array(32) };
    const verified = verifyArchive(files, { verifier, older });
    const error = await verified.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof FindingError, `${size}`);
    return error.finding.fault;
  };
  const files = listArchive(folder);
  const [{ to } = { to: 0 }] = files;
  assert.equal(await find(files, pruned.to + 1), "truncated");
  assert.equal(await find(files.slice(0, 1), to + 1), "truncated");
  assert.equal(await find(files.slice(1), to - 1), "missing");
  assert.equal(await find(files.slice(1), to), "rewritten");
});

test("[ours.audit-archive.verify] an archive in an empty folder is reported as missing", async (t) => {
  assert.equal(await faultOf(temporaryFolder(t)), "missing");
});

test("[ours.audit-archive.verify] a cut that no audit entry records is found, in each direction", async () => {
  const set = "update audit_log set pruned = $2 where project_id = $1";
  for (const position of [pruned.to + 1, pruned.to - 1, 256, 0]) {
    await tamper(scene, set, project, position);
    assert.equal(await faultOf(), "missing", String(position));
    await tamper(scene, set, project, pruned.to);
  }
  const name = "update audit_log set pruned_by = $2 where project_id = $1";
  const row = await store.get("select pruned_by from audit_log where project_id = $1", [project]);
  const other = await store.get(
    `select id from audit_entry where project_id = $1 and kind = 'request.opened'
     order by id limit 1`,
    [project],
  );
  for (const id of [String(other?.id), ""]) {
    await tamper(scene, name, project, id);
    assert.equal(await faultOf(), "missing", id);
  }
  await tamper(scene, name, project, String(row?.pruned_by));
  await assertValid();
});

test("[ours.audit-archive.verify] more deleted entries than the cut are found as missing", async () => {
  const rows = await store.all(
    `select * from audit_entry where project_id = $1 and kind = 'request.opened'
     order by id limit 1`,
    [project],
  );
  const row = rows[0] ?? {};
  await tamper(scene, "delete from audit_entry where id = $1", row.id ?? null);
  assert.equal(await faultOf(), "missing");
  assert.equal(await faultOf(directory), "missing");
  const names = Object.keys(row);
  const values = names.map((_, i) => `$${i + 1}`).join(", ");
  const insert = `insert into audit_entry (${names.join(", ")}) values (${values})`;
  await tamper(scene, insert, ...Object.values(row));
  await assertValid();
});

test("[ours.audit-archive.verify] an altered hash before the cut is found", async () => {
  const where = "project_id = $1 and level = 1 and tile = 0";
  const row = await store.get(`select hashes from audit_tile where ${where}`, [project]);
  const before = String(row?.hashes);
  const update = `update audit_tile set hashes = $2 where ${where}`;
  const changed = `${before.startsWith("A") ? "B" : "A"}${before.slice(1)}`;
  await tamper(scene, update, project, changed);
  assert.notEqual(await faultOf(), undefined);
  await tamper(scene, update, project, "");
  assert.equal(await faultOf(), "seal");
  await tamper(scene, update, project, before);
  await assertValid();
});

test("[ours.audit-archive.verify] an archive of another log is rejected", async (t) => {
  const other = await startScene(t);
  await untilSealed(other);
  const [theirs] = await archiveAll(other, { directory: temporaryFolder(t) });
  const [file = ""] = filesIn(theirs?.folder ?? "");
  await withFile(first, readFileSync(file), async () => {
    assert.equal(await faultOf(directory), "unreadable");
  });
  await assertValid();
});
