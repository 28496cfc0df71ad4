/** Runs the checks of every store as tests, and a race of several processes. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type StoreSubject, storeChecks } from "@countersign/sdk/store-conformance";
import { Child, type Owner } from "@countersign/testing/child";
import { type OpenStore, openStore, type StoreKind } from "./open-store.ts";

const CONSUME_IDS = join(import.meta.dirname, "consume-ids.ts");

const PROCESSES = 3;
const IDS = 40;

/** Opens stores of one kind, and closes them when their owner ends. */
export function subjectOf(
  owner: Owner,
  kind: StoreKind,
  address: () => Promise<string>,
): StoreSubject {
  const opened: OpenStore[] = [];
  owner.after(async () => {
    for (const { close } of opened) await close();
  });
  return {
    async open() {
      const open = await openStore(kind, await address());
      opened.push(open);
      return open.store;
    },
    async openUnreachable() {
      const { store, close } = await openStore(kind, await address());
      await close();
      return store;
    },
  };
}

export function testStore(name: string, subject: StoreSubject): void {
  for (const check of storeChecks(subject)) {
    test(`[ours.sdk.store] ${name}: ${check.name}`, check.run);
  }
}

export function testProcesses(kind: StoreKind, address: () => Promise<string>): void {
  test(`[ours.sdk.store] ${kind}: of several processes, exactly one consumes each id`, async (t) => {
    const command = [process.execPath, "--no-warnings", CONSUME_IDS, kind, await address()];
    const children = Array.from({ length: PROCESSES }, () => {
      return new Child(t, [...command, String(IDS)], { env: process.env });
    });
    const consumed: string[] = [];
    for (const child of children) {
      const { code, stdout, stderr } = await child.ends();
      assert.deepEqual([code, stderr], [0, ""]);
      consumed.push(...stdout.trim().split("\n"));
    }
    const expected = Array.from({ length: IDS }, (_, i) => `id ${i}`);
    assert.deepEqual(consumed.filter((id) => id !== "").sort(), expected.sort());
  });
}
