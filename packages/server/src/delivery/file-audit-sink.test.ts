import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { appendToFile, FileAuditSink } from "./file-audit-sink.ts";

const BATCH = { id: "1", timeoutMs: 8_000, endsBy: 9_000, isWanted: () => true };

function newFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-test-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "audit.jsonl");
}

test("[ours.stream.file] a batch is appended as lines to a file that only its owner can read", async (t) => {
  const file = newFile(t);
  const sink = new FileAuditSink(new ManualClock(), appendToFile(file));
  for (const lines of [["{}", "[]"], ["3"]]) {
    assert.equal((await sink.send({ ...BATCH, lines })).kind, "sent");
  }
  assert.equal(readFileSync(file, "utf8"), "{}\n[]\n3\n");
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test("[ours.stream.file] after a rename, the next batch starts a new file", async (t) => {
  const file = newFile(t);
  const sink = new FileAuditSink(new ManualClock(), appendToFile(file));
  await sink.send({ ...BATCH, lines: ["1"] });
  renameSync(file, `${file}.1`);
  await sink.send({ ...BATCH, lines: ["2"] });
  assert.equal(readFileSync(file, "utf8"), "2\n");
  assert.equal(readFileSync(`${file}.1`, "utf8"), "1\n");
});

test("[ours.stream.file] a batch does not continue the line that a crash has cut off", async (t) => {
  const file = newFile(t);
  writeFileSync(file, '{}\n{"id":');
  await appendToFile(file)('{"id":1}\n');
  assert.equal(readFileSync(file, "utf8"), '{}\n{"id":\n{"id":1}\n');
});

test("[ours.stream.file] a path that cannot be written is an outcome with its error code", async () => {
  const send = (path: string) =>
    new FileAuditSink(new ManualClock(), appendToFile(path)).send({ ...BATCH, lines: ["1"] });
  assert.deepEqual(await send("/nowhere/audit.jsonl"), { kind: "unreachable", reason: "ENOENT" });
  assert.deepEqual(await send(tmpdir()), { kind: "unreachable", reason: "EISDIR" });
  assert.deepEqual(await send("/dev/null"), { kind: "unreachable", reason: "not_a_file" });
});

test("[ours.stream.back-pressure] while a write hangs, the sink starts no other write", async () => {
  const clock = new ManualClock();
  const hanging = Promise.withResolvers<void>();
  let writes = 0;
  const sink = new FileAuditSink(clock, () => {
    writes++;
    return hanging.promise;
  });
  const first = sink.send({ ...BATCH, lines: ["1"] });
  await Promise.resolve();
  clock.advance(BATCH.timeoutMs);
  const blocked = { kind: "unreachable", reason: "blocked" };
  assert.deepEqual(await first, blocked);
  assert.deepEqual(await sink.send({ ...BATCH, lines: ["2"] }), blocked);
  assert.equal(writes, 1);
  hanging.resolve();
  await hanging.promise;
  await Promise.resolve();
  assert.equal((await sink.send({ ...BATCH, lines: ["2"] })).kind, "sent");
});

test("a batch is not written after the end of its lease", async () => {
  const sink = new FileAuditSink(new ManualClock(), () => assert.fail("it was written"));
  const outcome = await sink.send({ ...BATCH, lines: ["1"], isWanted: () => false });
  assert.deepEqual(outcome, { kind: "unwanted" });
});
