import assert from "node:assert/strict";
import { test } from "node:test";
import { privateKeyOf, publicKeyOf, signCheckpoint } from "../core/signed-note.ts";
import { found } from "./finding.ts";
import { NOTES_PER_BATCH, SignatureChecks } from "./signature-checks.ts";

const privateKey = privateKeyOf(new Uint8Array(32));
const publicKey = publicKeyOf(privateKey);
const name = "example.com/log";

const NOTES = 4 * NOTES_PER_BATCH;

function noteOf(size: number): string {
  return signCheckpoint({ size, root: new Uint8Array(32) }, { name, privateKey }, publicKey);
}

async function check(notes: readonly string[]): Promise<void> {
  const checks = new SignatureChecks({ name, publicKey });
  for (const [position, note] of notes.entries()) {
    checks.add(note, () => found("signature", { position }, `note ${position}`));
    await checks.startWhenFull();
  }
  await checks.waitForAll();
}

test("valid signatures pass", async () => {
  await check(Array.from({ length: NOTES }, (_, i) => noteOf(i)));
});

test("of several notes without a valid signature, the first one is reported", async () => {
  const notes = Array.from({ length: NOTES }, (_, i) => noteOf(i));
  const altered = (note = "") => note.replace(`${name}\n`, `${name}\n1`);
  for (const [first, second] of [
    [0, 1],
    [NOTES_PER_BATCH + 1, NOTES - 10],
    [NOTES - 2, NOTES - 1],
  ] as const) {
    const some = notes.with(second, altered(notes[second])).with(first, altered(notes[first]));
    await assert.rejects(check(some), { message: `note ${first}` });
  }
});

test("a note without a signature of the key is reported", async () => {
  const other = privateKeyOf(new Uint8Array(32).fill(1));
  const root = new Uint8Array(32);
  const note = signCheckpoint({ size: 1, root }, { name, privateKey: other }, publicKeyOf(other));
  await assert.rejects(check([note]), { message: "note 0" });
});
