/**
 * Checks that every consumption store must pass, for any test framework. Each check uses new ids,
 * so the checks can run against a database that has records.
 */

import type { ConsumptionStore } from "./consumption-store.ts";

/** The store to check. */
export interface StoreSubject {
  /**
   * Opens the store. The checks call it several times, like several processes do. All open stores
   * must share their records. Return the same object for a store in memory.
   */
  open(): ConsumptionStore | Promise<ConsumptionStore>;
  /** Opens a store that cannot reach its records, such as one with a closed connection. */
  openUnreachable?(): ConsumptionStore | Promise<ConsumptionStore>;
  /** Deletes old records now. Leave it out if the store deletes none, or if its database does. */
  prune?(): Promise<void>;
}

/** One check. */
export interface StoreCheck {
  /** The rule that the store must follow. */
  readonly name: string;
  /** Rejects if the store violates the rule. */
  run(): Promise<void>;
}

/** Length of the longest id that the SDK uses. */
const ID_CHARS_MAX = 3_000;

/** Length of the longest result that the SDK saves, in UTF-16 code units. */
const RESULT_CHARS_MAX = 1024 * 1024;

const CALLERS = 40;

type Rule = (subject: StoreSubject) => Promise<void>;

const RULES: Readonly<Record<string, Rule>> = {
  "the first consume of an id returns true, every later one false": async (subject) => {
    const store = await subject.open();
    const id = newId();
    await expectConsume(store, id, true);
    await expectConsume(store, id, false);
    await expectConsume(await subject.open(), id, false);
    await expectConsume(store, newId(), true);
  },

  "of concurrent calls of one store, exactly one consumes the id": async (subject) => {
    const store = await subject.open();
    await expectOneConsumer(Array.from({ length: CALLERS }, () => store));
  },

  "of concurrent calls of several open stores, exactly one consumes the id": async (subject) => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => subject.open()));
    await expectOneConsumer(Array.from({ length: CALLERS / 4 }, () => stores).flat());
  },

  "ids of 3,000 characters that differ in the last character are different": async (subject) => {
    const store = await subject.open();
    // Random, because some indexes accept a long text only if it can be compressed.
    const start = Array.from({ length: 80 }, newId)
      .join("")
      .slice(0, ID_CHARS_MAX - 1);
    await expectConsume(store, `${start}a`, true);
    await expectConsume(store, `${start}b`, true);
    await expectConsume(store, `${start}a`, false);
  },

  "ids that differ in case, in spaces or in special characters are different": async (subject) => {
    const store = await subject.open();
    const id = newId();
    const ids = ["", "a", "A", " ", "/../a", "'", '"', "%", "_", "\\", "ä", "a\u0308"];
    for (const end of ids) await expectConsume(store, id + end, true);
    for (const end of ids) await expectConsume(store, id + end, false);
  },

  "has returns true for consumed ids only": async (subject) => {
    const store = await subject.open();
    const id = newId();
    if (store.has === undefined) return;
    expectEqual("has of a new id", await store.has(id), false);
    await expectConsume(store, id, true);
    expectEqual("has of a consumed id", await store.has(id), true);
    expectEqual("has of another open store", await (await subject.open()).has?.(id), true);
  },

  "saveResult saves the first result of an id, for all open stores": async (subject) => {
    const store = await subject.open();
    if (!savesResults(store)) return;
    const id = newId();
    await expectConsume(store, id, true);
    expectEqual("loadResult before saveResult", await store.loadResult(id), undefined);
    await store.saveResult(id, "first");
    await store.saveResult(id, "second");
    expectEqual("loadResult", await store.loadResult(id), "first");
    const other = await subject.open();
    expectEqual("loadResult of another open store", await other.loadResult?.(id), "first");
    await expectConsume(store, id, false);
  },

  "loadResult returns results of up to 1,048,576 characters unchanged": async (subject) => {
    const store = await subject.open();
    if (!savesResults(store)) return;
    for (const text of ["", '{"a":"\\u0000 ä \u{1f600}\n"}', "ä".repeat(RESULT_CHARS_MAX)]) {
      const id = newId();
      await expectConsume(store, id, true);
      await store.saveResult(id, text);
      const isSame = (await store.loadResult(id)) === text;
      expectEqual(`a result of ${text.length} characters is unchanged`, isSame, true);
    }
  },

  "pruning keeps new records and their results": async (subject) => {
    const store = await subject.open();
    const id = newId();
    await expectConsume(store, id, true);
    await store.saveResult?.(id, "kept");
    await subject.prune?.();
    await expectConsume(store, id, false);
    if (savesResults(store)) expectEqual("loadResult", await store.loadResult(id), "kept");
  },

  "a store that cannot reach its records rejects": async (subject) => {
    const store = await subject.openUnreachable?.();
    if (store === undefined) return;
    await expectRejection("consume", () => store.consume(newId()));
    if (store.has !== undefined) await expectRejection("has", async () => store.has?.(newId()));
  },
};

/**
 * Creates the checks for a store. Pass each one to your test framework:
 *
 *     for (const { name, run } of storeChecks({ open: () => new MyStore(url) })) test(name, run);
 */
export function storeChecks(subject: StoreSubject): readonly StoreCheck[] {
  return Object.entries(RULES).map(([name, rule]) => ({ name, run: () => rule(subject) }));
}

function newId(): string {
  return `conformance ${crypto.randomUUID()} `;
}

async function expectConsume(store: ConsumptionStore, id: string, expected: boolean) {
  const shown = id.length > 100 ? `${id.slice(0, 100)}...` : id;
  expectEqual(`consume(${JSON.stringify(shown)})`, await store.consume(id), expected);
}

async function expectOneConsumer(callers: readonly ConsumptionStore[]): Promise<void> {
  const id = newId();
  const replies: readonly unknown[] = await Promise.all(callers.map((store) => store.consume(id)));
  const count = replies.filter((reply) => reply === true).length;
  expectEqual(`number of ${callers.length} concurrent calls that returned true`, count, 1);
  const isBoolean = replies.every((reply) => typeof reply === "boolean");
  expectEqual("every call returned a boolean", isBoolean, true);
}

async function expectRejection(name: string, call: () => Promise<unknown>): Promise<void> {
  let value: unknown;
  try {
    value = await call();
  } catch {
    return;
  }
  throw new Error(`${name} returned ${String(value)}. It must reject if the result is unknown.`);
}

function savesResults(
  store: ConsumptionStore,
): store is ConsumptionStore & Required<Pick<ConsumptionStore, "saveResult" | "loadResult">> {
  return store.saveResult !== undefined && store.loadResult !== undefined;
}

function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual === expected) return;
  throw new Error(`${what} is ${String(actual)}. Expected ${String(expected)}.`);
}
