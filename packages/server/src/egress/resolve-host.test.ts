import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { type TestContext, test } from "node:test";
import { type AnswerQuestion, startDnsServer } from "../../test/support/dns-server.ts";
import { until } from "../../test/support/until.ts";
import { createResolver } from "./resolve-host.ts";

const HOST = "receiver.example";
const NEVER = new AbortController().signal;

async function setUp(t: TestContext, answer: AnswerQuestion, timeoutMs?: number) {
  const server = await startDnsServer(t, answer);
  const resolver = createResolver({ servers: [server.address], ...(timeoutMs && { timeoutMs }) });
  return { server, resolver };
}

/** The questions of this process that wait for their answer. */
function watchQuestions(t: TestContext): ReadonlySet<number> {
  const waiting = new Set<number>();
  const hook = createHook({
    init: (id, type) => type === "QUERYWRAP" && waiting.add(id),
    before: (id) => waiting.delete(id),
  });
  hook.enable();
  t.after(() => {
    hook.disable();
  });
  return waiting;
}

const V4 = "192.0.2.7";
const V6 = "2001:db8::7";
const BOTH: AnswerQuestion = (_, type) => ({ addresses: [type === "A" ? V4 : V6] });

test("a name has the addresses of both families, asked for once each", async (t) => {
  const { server, resolver } = await setUp(t, BOTH);
  assert.deepEqual(await resolver.resolve(HOST, NEVER), [V4, V6]);
  assert.deepEqual(server.questions.toSorted(), [`A ${HOST}`, `AAAA ${HOST}`]);
});

test("[delivery.url.every-connection] every lookup queries again", async (t) => {
  let last = 0;
  const { resolver } = await setUp(t, (_, type) => ({
    addresses: type === "A" ? [`192.0.2.${++last}`] : [],
  }));
  assert.deepEqual(await resolver.resolve(HOST, NEVER), ["192.0.2.1"]);
  assert.deepEqual(await resolver.resolve(HOST, NEVER), ["192.0.2.2"]);
});

test("an alias leads to its addresses", async (t) => {
  const { resolver } = await setUp(t, (_, type) => ({
    alias: "elsewhere.example",
    addresses: type === "A" ? ["10.0.0.7"] : [],
  }));
  assert.deepEqual(await resolver.resolve(HOST, NEVER), ["10.0.0.7"]);
});

test("a family without addresses leaves the other, whichever way a server says so", async (t) => {
  for (const code of [0, 3]) {
    const only4 = await setUp(t, (_, type) => (type === "A" ? { addresses: [V4] } : { code }));
    assert.deepEqual(await only4.resolver.resolve(HOST, NEVER), [V4]);
    const only6 = await setUp(t, (_, type) => (type === "A" ? { code } : { addresses: [V6] }));
    assert.deepEqual(await only6.resolver.resolve(HOST, NEVER), [V6]);
  }
});

test("a name that does not exist, or has no addresses, has none", async (t) => {
  for (const code of [0, 3]) {
    const { resolver } = await setUp(t, () => ({ code }));
    assert.deepEqual(await resolver.resolve(HOST, NEVER), []);
  }
});

test("[delivery.url.addresses] a failed answer fails the lookup, because it could have been private", async (t) => {
  for (const failing of ["A", "AAAA"]) {
    const { resolver } = await setUp(t, (name, type) =>
      type === failing ? { code: 2 } : BOTH(name, type),
    );
    await assert.rejects(resolver.resolve(HOST, NEVER), { code: "ESERVFAIL" });
  }
});

test("a missing answer fails the lookup", async (t) => {
  const { resolver } = await setUp(
    t,
    (name, type) => (type === "A" ? BOTH(name, type) : undefined),
    250,
  );
  await assert.rejects(resolver.resolve(HOST, NEVER), { code: "ETIMEOUT" });
});

test("an answer that was lost is asked for again", async (t) => {
  let lost = false;
  const { resolver } = await setUp(
    t,
    (name, type) => {
      if (lost || type === "AAAA") return BOTH(name, type);
      lost = true;
      return undefined;
    },
    250,
  );
  assert.deepEqual(await resolver.resolve(HOST, NEVER), [V4, V6]);
});

test("a name with too many addresses is rejected", async (t) => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `192.0.2.${i}`);
  const most = await setUp(t, (_, type) => ({ addresses: type === "A" ? many(31) : [V6] }));
  assert.equal((await most.resolver.resolve(HOST, NEVER)).length, 32);
  const more = await setUp(t, (_, type) => ({ addresses: type === "A" ? many(32) : [V6] }));
  await assert.rejects(more.resolver.resolve(HOST, NEVER), /too many addresses/);
});

test("addresses and names of this machine are known without DNS", async (t) => {
  const { server, resolver } = await setUp(t, BOTH);
  for (const address of ["192.0.2.1", "127.0.0.1", "2001:db8::1", "::ffff:127.0.0.1"]) {
    assert.deepEqual(await resolver.resolve(address, NEVER), [address]);
  }
  for (const name of ["localhost", "LOCALHOST", "a.localhost", "a.b.localhost", "localhost."]) {
    assert.deepEqual(await resolver.resolve(name, NEVER), ["127.0.0.1"]);
  }
  assert.deepEqual(server.questions, []);
  assert.deepEqual(await resolver.resolve("notlocalhost", NEVER), [V4, V6]);
  assert.deepEqual(await resolver.resolve("localhost.example", NEVER), [V4, V6]);
});

test("concurrent lookups of one name share a query", async (t) => {
  const { server, resolver } = await setUp(t, BOTH);
  const both = ["one.example", "one.example", "two.example", "one.example"];
  const answers = await Promise.all(both.map((host) => resolver.resolve(host, NEVER)));
  assert.deepEqual(answers, Array(4).fill([V4, V6]));
  assert.equal(server.questions.length, 4);
  await resolver.resolve("one.example", NEVER);
  assert.equal(server.questions.length, 6);
});

test("a caller that aborts does not affect the answer to the others", async (t) => {
  let isHeld = true;
  const { server, resolver } = await setUp(
    t,
    (name, type) => (isHeld ? undefined : BOTH(name, type)),
    250,
  );
  const impatient = new AbortController();
  const left = resolver.resolve(HOST, impatient.signal);
  const stays = resolver.resolve(HOST, NEVER);
  await until(() => server.questions.length === 2, "the questions");
  impatient.abort(new Error("given up"));
  await assert.rejects(left, /given up/);
  isHeld = false;
  assert.deepEqual(await stays, [V4, V6]);
});

test("a lookup without waiting callers is cancelled, and no other one", async (t) => {
  const { server, resolver } = await setUp(
    t,
    (name, type) => (name === HOST ? undefined : BOTH(name, type)),
    60_000,
  );
  const queried = watchQuestions(t);
  const impatient = new AbortController();
  const left = resolver.resolve(HOST, impatient.signal);
  await until(() => server.questions.length === 2, "the questions");
  assert.equal(queried.size, 2);
  const other = resolver.resolve("other.example", NEVER);
  impatient.abort(new Error("given up"));
  await assert.rejects(left, /given up/);
  assert.deepEqual(await other, [V4, V6]);
  // A new one does not join what was cancelled.
  const again = new AbortController();
  const second = resolver.resolve(HOST, again.signal);
  await until(() => server.questions.filter((each) => each.endsWith(HOST)).length === 4, "again");
  again.abort(new Error("given up again"));
  await assert.rejects(second, /given up again/);
  await until(() => queried.size === 0, "all questions have ended");
});
