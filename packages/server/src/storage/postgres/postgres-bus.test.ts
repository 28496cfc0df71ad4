/**
 * The bus on a real PostgreSQL, with a proxy in between where the way to it fails.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { startCuttingProxy } from "../../../test/support/cutting-proxy.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { createDatabase } from "../../../test/support/postgres.ts";
import { until } from "../../../test/support/until.ts";
import { systemRandom } from "../../clock.ts";
import { Failure } from "../../failure.ts";
import type { SqlValue } from "../store.ts";
import { PostgresBus } from "./postgres-bus.ts";

interface Listener {
  readonly bus: PostgresBus;
  readonly clock: ManualClock;
  readonly messages: string[];
  /** `listening`, or the message of what was lost. */
  readonly reports: string[];
}

/**
 * A bus with a stopped clock, and its messages.
 *
 * @param pooled where the connections of its pool lead
 */
function open(t: TestContext, url: string, pooled = url): Listener {
  const clock = new ManualClock();
  const query = async (sql: string, values: readonly SqlValue[]) => {
    const client = new Client({ connectionString: pooled });
    // A proxy can cut a connection that is being closed. A failed query throws besides.
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query(sql, [...values]);
    } catch (error) {
      throw new Failure("store", "the pool could not send it", error);
    } finally {
      await client.end();
    }
  };
  const bus = new PostgresBus({ url, query, random: systemRandom(), clock });
  t.after(() => bus.close());
  const listener: Listener = { bus, clock, messages: [], reports: [] };
  bus.open({
    onMessage: (message) => listener.messages.push(message),
    onListening: () => listener.reports.push("listening"),
    onLost: (error) => listener.reports.push(error.message),
  });
  return listener;
}

async function listening(listener: Listener): Promise<void> {
  await until(() => listener.reports.at(-1) === "listening", "it listens");
}

async function lost(listener: Listener): Promise<string> {
  const last = () => listener.reports.at(-1) ?? "listening";
  await until(() => last() !== "listening", "the listener reports the loss");
  return last();
}

/** The longest pause between tries. */
const PAUSE_MS_MAX = 30_000;
const PROBE_MS = 10_000;
const ECHO_MS = 5_000;

test("a message reaches all listeners of its database, and none of another", async (t) => {
  const url = await createDatabase();
  const listeners = [open(t, url), open(t, url)];
  const elsewhere = open(t, await createDatabase());
  for (const listener of [...listeners, elsewhere]) await listening(listener);
  const [first, second] = listeners as [Listener, Listener];
  const long = "x".repeat(first.bus.messageBytesMax);
  assert.equal(await first.bus.send("one"), true);
  assert.equal(await second.bus.send(long), true);
  for (const { messages } of listeners) {
    await until(() => messages.length === 2, "both messages");
    assert.deepEqual(messages.toSorted(), ["one", long]);
  }
  assert.equal(await elsewhere.bus.send("two"), true);
  await until(() => elsewhere.messages.length > 0, "its own message");
  assert.deepEqual(elsewhere.messages, ["two"]);
});

test("notifications on other channels are ignored", async (t) => {
  const url = await createDatabase();
  const listener = open(t, url);
  await listening(listener);
  const other = new Client({ connectionString: url });
  await other.connect();
  await other.query("notify something_else, 'theirs'");
  await other.query("notify countersign_wake");
  await other.query("notify countersign_wake, 'for all'");
  await other.end();
  await until(() => listener.messages.length === 2, "the message to all arrives");
  assert.deepEqual(listener.messages, ["", "for all"]);
});

test("[ours.replicas.not-notified] a lost connection is reported once and opened again after a pause; nothing is sent until then", async (t) => {
  const proxy = await startCuttingProxy(t, await createDatabase());
  const listener = open(t, proxy.url);
  await listening(listener);
  proxy.isDown = true;
  proxy.cutAll();
  await lost(listener);
  const { mock } = t.mock.method(listener.clock, "after");
  for (let tries = 1; tries <= 5; tries++) {
    assert.equal(await listener.bus.send("lost"), false);
    listener.clock.advance(PAUSE_MS_MAX);
    await until(() => mock.callCount() === tries, "it pauses again");
  }
  assert.equal(listener.reports.length, 2, "a continuing loss is reported once");
  proxy.isDown = false;
  listener.clock.advance(PAUSE_MS_MAX);
  await listening(listener);
  assert.equal(await listener.bus.send("heard"), true);
  await until(() => listener.messages.length === 1, "the message");
  assert.deepEqual(listener.messages, ["heard"]);
});

test("[ours.replicas.not-notified] a connection that died in silence is found and replaced", async (t) => {
  const proxy = await startCuttingProxy(t, await createDatabase());
  const listener = open(t, proxy.url);
  await listening(listener);
  listener.clock.advance(PROBE_MS);
  proxy.silence();
  listener.clock.advance(PROBE_MS - 1);
  assert.deepEqual(listener.reports, ["listening"]);
  await until(() => {
    listener.clock.advance(ECHO_MS);
    return listener.reports.length > 1;
  }, "the silence is noticed");
  assert.match(await lost(listener), /do not arrive/);
  listener.clock.advance(PAUSE_MS_MAX);
  await listening(listener);
});

test("[ours.replicas.not-notified] an engine that refuses LISTEN is reported once, with its reason", async (t) => {
  const proxy = await startCuttingProxy(t, await createDatabase());
  proxy.listen = "refused";
  const listener = open(t, proxy.url);
  assert.match(await lost(listener), /set database_direct_url .*: syntax error/);
  assert.equal(await listener.bus.send("nobody"), false);
  assert.equal(listener.reports.length, 1);
});

test("[ours.replicas.not-notified] a pooler that accepts LISTEN without notifications is detected at the start", async (t) => {
  const proxy = await startCuttingProxy(t, await createDatabase());
  proxy.listen = "ignored";
  const listener = open(t, proxy.url);
  await until(() => {
    listener.clock.advance(ECHO_MS);
    return listener.reports.length > 0;
  }, "it is found out");
  assert.match(await lost(listener), /without a transaction pooler.*do not arrive/);
});

test("[ours.replicas.not-notified] a pooler that delivers only what is sent on the same connection is never listening", async (t) => {
  const url = await createDatabase();
  const proxy = await startCuttingProxy(t, url);
  proxy.listen = "own";
  const listener = open(t, proxy.url, url);
  for (let tries = 1; tries <= 3; tries++) {
    await until(() => proxy.withheld === tries || listener.reports.length > 1, "the probe is sent");
    const { mock } = t.mock.method(listener.clock, "after");
    listener.clock.advance(ECHO_MS);
    await until(() => mock.callCount() === 1, "it pauses");
    mock.restore();
    listener.clock.advance(PAUSE_MS_MAX);
  }
  assert.equal(listener.reports.length, 1);
  assert.match(listener.reports[0] ?? "", /without a transaction pooler.*do not arrive/);
});

test("[ours.replicas.not-notified] a probe that the pool cannot send says nothing of the connection that listens", async (t) => {
  const url = await createDatabase();
  const pool = await startCuttingProxy(t, url);
  const listener = open(t, url, pool.url);
  await listening(listener);
  pool.isDown = true;
  const { mock } = t.mock.method(listener.clock, "after");
  listener.clock.advance(PROBE_MS);
  await until(() => mock.callCount() >= 2, "the next probe is scheduled");
  assert.deepEqual(listener.reports, ["listening"]);
  assert.equal(await listener.bus.send("heard"), true);
  await until(() => listener.messages.length === 1, "the message");
});

test("a bus that is closed says nothing more, connected or not", async (t) => {
  const url = await createDatabase();
  const [listener, other] = [open(t, url), open(t, url)];
  const nowhere = open(t, "postgres://postgres@127.0.0.1:1/nobody");
  await listening(listener);
  await listening(other);
  await lost(nowhere);
  await listener.bus.close();
  await nowhere.bus.close();
  nowhere.clock.advance(PAUSE_MS_MAX);
  await other.bus.send("too late");
  await until(() => other.messages.length === 1, "the message");
  assert.deepEqual(
    [listener.messages, listener.reports, nowhere.reports.length],
    [[], ["listening"], 1],
  );
  assert.equal(await listener.bus.send("nothing"), false);
});
