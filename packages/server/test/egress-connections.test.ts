import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { type Behave, closed, startRawReceiver, startTcpListener } from "./support/raw-receiver.ts";
import { createSelfSigned } from "./support/self-signed.ts";
import { ATTEMPT_MS, openTestEgress, patiently } from "./support/test-egress.ts";
import { startTlsReceiver, type TlsReceiver } from "./support/tls-receiver.ts";
import { turns, until } from "./support/until.ts";

const HOST = "receiver.example";
const IDENTITY = createSelfSigned({ names: [HOST, "other.example"], addresses: ["127.0.0.1"] });
const CA = [IDENTITY.certificate];

const failed = (reason: string) => ({ kind: "unreachable", reason });

async function setUp(t: TestContext) {
  const receiver = await startTlsReceiver(t, undefined, { identity: IDENTITY });
  const answers = { [HOST]: ["127.0.0.1"], "other.example": ["127.0.0.1"] };
  const egress = openTestEgress(t, { ca: CA, answers });
  return { receiver, ...egress, url: `https://${HOST}:${receiver.port}/` };
}

async function setUpRaw(t: TestContext, behave: Behave) {
  const { key, certificate: cert } = IDENTITY;
  const receiver = await startRawReceiver(t, behave, { key, cert });
  const egress = openTestEgress(t, { ca: CA, answers: { [HOST]: ["127.0.0.1"] } });
  return { receiver, ...egress, url: `https://${HOST}:${receiver.port}/` };
}

/** A place of which the test sees who has it. */
function countPlaces() {
  const acquired: string[] = [];
  let held = 0;
  return {
    acquired,
    get held() {
      return held;
    },
    admit: async (address: string) => {
      acquired.push(address);
      held++;
      return () => {
        held--;
      };
    },
  };
}

const EMPTY = "HTTP/1.1 204 No Content\r\n\r\n";

test("messages to one receiver, one after the other, share a connection", async (t) => {
  const { receiver, post, url } = await setUp(t);
  for (let i = 0; i < 20; i++) assert.equal((await post(url)).kind, "answered");
  assert.equal(receiver.connections, 1);
  assert.equal(receiver.requests.length, 20);
});

test("a connection that is used again collects no listeners", async (t) => {
  const { receiver, post, url } = await setUp(t);
  const counts: number[] = [];
  const count = (message: unknown) => {
    const { socket } = (message as { readonly response: { readonly socket: Socket } }).response;
    counts.push(socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0));
  };
  subscribe("http.client.response.finish", count);
  t.after(() => unsubscribe("http.client.response.finish", count));
  for (let i = 0; i < 12; i++) await post(url);
  assert.equal(receiver.connections, 1);
  assert.equal(counts.length, 12);
  assert.equal(counts.at(-1), counts[1]);
});

test("a message that wants its own connection shares none", async (t) => {
  const { receiver, post, url } = await setUp(t);
  await post(url);
  await post(url, { freshConnection: true });
  assert.equal(receiver.connections, 2);
  const [, fresh] = receiver.requests;
  assert.equal(fresh?.headers.connection, "close");
  await post(url);
  assert.equal(receiver.connections, 2);
  await post(url, { freshConnection: true });
  assert.equal(receiver.connections, 3);
});

test("two names at one address share no connection, nor do a name and the address", async (t) => {
  const { receiver, post, url } = await setUp(t);
  const others = ["other.example", "127.0.0.1"].map((host) => url.replace(HOST, host));
  for (const each of [url, ...others]) assert.equal((await post(each)).kind, "answered");
  assert.equal(receiver.connections, 3);
  assert.deepEqual(
    receiver.requests.map(({ serverName }) => serverName),
    [HOST, "other.example", ""],
  );
});

test("an idle connection is closed after four seconds", async (t) => {
  const { receiver, post, url, clock } = await setUpRaw(t, (socket) => socket.write(EMPTY));
  await post(url);
  clock.advance(3_999);
  await post(url);
  assert.equal(receiver.sockets.length, 1);
  clock.advance(4_000);
  await closed(receiver.sockets[0]);
  await post(url);
  assert.equal(receiver.sockets.length, 2);
});

test("no more than four idle connections are kept for one receiver", async (t) => {
  const held: (() => void)[] = [];
  const { receiver, post, url } = await setUpRaw(t, (socket) => {
    held.push(() => socket.write(EMPTY));
  });
  const replies = Array.from({ length: 6 }, () => post(url));
  await until(() => held.length === 6, "all are sent");
  for (const answer of held) answer();
  await Promise.all(replies);
  const open = () => receiver.sockets.filter(({ closed }) => !closed).length;
  await until(() => open() === 4, "two are closed");
  await turns();
  assert.equal(open(), 4);
});

test("no more than 128 idle connections are kept in all", async (t) => {
  const names = Array.from({ length: 130 }, (_, i) => `r${i}.example`);
  const { key, certificate } = createSelfSigned({ names });
  const receiver = await startRawReceiver(t, (socket) => socket.write(EMPTY), {
    key,
    cert: certificate,
  });
  const answers = Object.fromEntries(names.map((name) => [name, ["127.0.0.1"]]));
  const { post } = openTestEgress(t, { ca: [certificate], answers });
  for (const name of names) await post(`https://${name}:${receiver.port}/`);
  const open = () => receiver.sockets.filter(({ closed }) => !closed).length;
  await until(() => open() === 128, "the oldest are closed");
  await Promise.all([closed(receiver.sockets[0]), closed(receiver.sockets[1])]);
});

test("an idle connection on which the receiver speaks is closed", async (t) => {
  const { receiver, post, url } = await setUpRaw(t, (socket) => socket.write(EMPTY));
  await post(url);
  receiver.sockets[0]?.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  await closed(receiver.sockets[0]);
  const reply = await post(url);
  assert.equal(reply.kind === "answered" && reply.status, 204);
  assert.equal(receiver.sockets.length, 2);
});

test("an answer that comes before its message answers nothing", async (t) => {
  const { receiver, post, url } = await setUpRaw(t, (socket) => {
    socket.write(`${EMPTY}HTTP/1.1 299 Early\r\n\r\n`);
  });
  const first = await post(url);
  assert.equal(first.kind === "answered" && first.status, 204);
  await closed(receiver.sockets[0]);
  const second = await post(url);
  assert.equal(second.kind === "answered" && second.status, 204);
  assert.equal(receiver.sockets.length, 2);
});

test("a used connection that ends before any answer is stale; nothing is sent again", async (t) => {
  for (const end of ["close", "reset"]) {
    let messages = 0;
    const { receiver, post, url } = await setUpRaw(t, (socket, _, tcp) => {
      messages++;
      if (messages === 1) socket.write(EMPTY);
      else if (end === "close") socket.end();
      else tcp?.resetAndDestroy();
    });
    assert.equal((await post(url)).kind, "answered");
    assert.deepEqual(await post(url), failed("stale"));
    assert.equal(messages, 2);
    assert.equal(receiver.sockets.length, 1);
  }
});

test("a used connection that ends after a byte of the answer is reset", async (t) => {
  let messages = 0;
  const { post, url } = await setUpRaw(t, (socket) => {
    messages++;
    if (messages === 1) socket.write(EMPTY);
    else socket.end("H");
  });
  await post(url);
  assert.deepEqual(await post(url), failed("reset"));
});

test("a used connection that falls silent takes the message's time", async (t) => {
  const { receiver, post, url, clock } = await setUpRaw(t, (socket) => {
    if (receiver.received.split("POST").length === 2) socket.write(EMPTY);
  });
  await post(url);
  const reply = post(url);
  await until(() => receiver.received.split("POST").length === 3, "the second message");
  clock.advance(ATTEMPT_MS);
  assert.deepEqual(await reply, failed("timeout"));
});

test("a receiver that closes after each answer is served over new connections", async (t) => {
  const { receiver, post, url } = await setUpRaw(t, (socket) => {
    socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  for (let i = 0; i < 3; i++) assert.equal((await post(url)).kind, "answered");
  assert.equal(receiver.sockets.length, 3);
});

test("a second address is tried when the first refuses the connection", async (t) => {
  const { receiver, post, resolver, url } = await setUp(t);
  const places = countPlaces();
  resolver.answers[HOST] = ["127.0.0.9", "127.0.0.1"];
  assert.equal((await post(url, { admit: places.admit })).kind, "answered");
  assert.equal(receiver.requests.length, 1);
  assert.deepEqual(places.acquired, ["127.0.0.9", "127.0.0.1"]);
  await until(() => places.held === 0, "both places are left");
});

test("no third address is tried", async (t) => {
  const { receiver, post, resolver, url } = await setUp(t);
  resolver.answers[HOST] = ["127.0.0.8", "127.0.0.9", "127.0.0.1"];
  const places = countPlaces();
  assert.deepEqual(await post(url, { admit: places.admit }), failed("connect"));
  assert.deepEqual(places.acquired, ["127.0.0.8", "127.0.0.9"]);
  assert.equal(places.held, 0);
  assert.equal(receiver.connections, 0);
});

test("of two families one address each is tried", async (t) => {
  const { receiver, resolver, url } = await setUp(t);
  const { post } = openTestEgress(t, { allow: ["127.0.0.0/8", "::1/128"], ca: CA, resolver });
  resolver.answers[HOST] = ["127.0.0.8", "127.0.0.1", "::1"];
  const places = countPlaces();
  assert.deepEqual(await post(url, { admit: places.admit }), failed("connect"));
  assert.deepEqual(places.acquired, ["127.0.0.8", "::1"]);
  assert.equal(receiver.connections, 0);
});

test("a second address is tried when the first has no valid certificate", async (t) => {
  const wrong = createSelfSigned({ names: ["wrong.example"] });
  const { receiver, post, resolver, url } = await setUp(t);
  const place = { host: "127.0.0.2", port: receiver.port };
  const impostor = await startTlsReceiver(t, undefined, { identity: wrong, ...place });
  resolver.answers[HOST] = ["127.0.0.2", "127.0.0.1"];
  assert.equal((await post(url)).kind, "answered");
  assert.deepEqual([impostor.requests.length, receiver.requests.length], [0, 1]);
});

test("the first address has half of the time, the second one the rest", async (t) => {
  const { receiver, post, resolver, url, clock } = await setUp(t);
  const place = { host: "127.0.0.2", port: receiver.port };
  const silent = await startTcpListener(t, undefined, place);
  resolver.answers[HOST] = ["127.0.0.2", "127.0.0.1"];
  const reply = post(url);
  await until(() => silent.sockets.length === 1, "the first address");
  clock.advance(ATTEMPT_MS / 2 - 1);
  await turns();
  assert.equal(receiver.connections, 0);
  clock.advance(1);
  assert.equal((await reply).kind, "answered");
});

test("once a message is sent no second address gets it", async (t) => {
  const { receiver, post, resolver, url } = await setUpRaw(t, (socket) => socket.end());
  const place = { host: "127.0.0.2", port: receiver.port };
  const other = await startTlsReceiver(t, undefined, { identity: IDENTITY, ...place });
  resolver.answers[HOST] = ["127.0.0.1", "127.0.0.2"];
  assert.deepEqual(await post(url), failed("reset"));
  assert.equal(other.connections, 0);
});

test("without a place at the address nothing is sent", async (t) => {
  const { receiver, post, url } = await setUp(t);
  assert.deepEqual(await post(url, { admit: async () => undefined }), { kind: "busy" });
  assert.equal(receiver.connections, 0);
});

test("whether a message is wanted is asked before a connection and after it", async (t) => {
  const { receiver, post, url, clock } = await setUp(t);
  const budgetsMs: number[] = [];
  const wanted = (...answers: boolean[]) => ({
    isWanted: async (leftMs: number) => {
      budgetsMs.push(leftMs);
      clock.advance(1_000);
      return answers.shift() ?? assert.fail("it is asked too often");
    },
  });
  assert.deepEqual(await post(url, wanted(false)), { kind: "busy" });
  assert.equal(receiver.connections, 0);
  assert.deepEqual(await post(url, wanted(true, false)), { kind: "busy" });
  assert.deepEqual([receiver.connections, receiver.requests.length], [1, 0]);
  assert.equal((await post(url, wanted(true, true))).kind, "answered");
  // On a connection that is open there is nothing to wait for in between.
  assert.equal((await post(url, wanted(true))).kind, "answered");
  assert.deepEqual([receiver.connections, receiver.requests.length], [2, 2]);
  const opened = [ATTEMPT_MS, ATTEMPT_MS - 1_000];
  assert.deepEqual(budgetsMs, [ATTEMPT_MS, ...opened, ...opened, ATTEMPT_MS]);
});

test("a message is not sent if the check before it fails or does not complete", async (t) => {
  const { receiver, post, url, clock } = await setUp(t);
  const failing = async () => Promise.reject(new Error("the database is away"));
  assert.deepEqual(await post(url, { isWanted: failing }), { kind: "busy" });
  let isRequested = false;
  const reply = post(url, {
    isWanted: () => {
      isRequested = true;
      return new Promise(() => {});
    },
  });
  await until(() => isRequested, "it is asked");
  clock.advance(ATTEMPT_MS);
  assert.deepEqual(await reply, failed("timeout"));
  assert.equal(receiver.connections, 0);
});

test("a message that is posted after its deadline is not sent", async (t) => {
  const { receiver, post, url, clock } = await setUp(t);
  clock.advance(5_000);
  assert.deepEqual(await post(url, { endsBy: clock.monotonic() }), failed("timeout"));
  assert.equal(receiver.connections, 0);
  assert.equal((await post(url, { endsBy: clock.monotonic() + 1 })).kind, "answered");
});

test("a place that comes after the time is left at once", async (t) => {
  const { receiver, post, url, clock } = await setUp(t);
  const place = Promise.withResolvers<() => void>();
  let isRequested = false;
  const reply = post(url, {
    admit: () => {
      isRequested = true;
      return place.promise;
    },
  });
  await until(() => isRequested, "the place is asked for");
  clock.advance(ATTEMPT_MS);
  assert.deepEqual(await reply, { kind: "busy" });
  const isLeft = new Promise<void>((resolve) => place.resolve(resolve));
  await patiently(isLeft, "the place is left");
  assert.equal(receiver.connections, 0);
});

test("the place is held until the exchange is over, however it ends", async (t) => {
  const places = countPlaces();
  const endings: Behave[] = [
    (socket) => socket.write(EMPTY),
    (socket) => socket.end("HTTP/1.1 200 OK\r\n\r\nbye"),
    (socket) => socket.end(),
    (socket) => socket.write("no HTTP\r\n\r\n"),
    (socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\n\r\n"),
  ];
  for (const behave of endings) {
    const seen: number[] = [];
    const { post, url } = await setUpRaw(t, (socket, message, tcp) => {
      seen.push(places.held);
      behave(socket, message, tcp);
    });
    await post(url, { admit: places.admit });
    assert.deepEqual(seen, [1]);
    await until(() => places.held === 0, "the place is left");
  }
});

test("closing the egress cuts every connection and lets nothing more out", async (t) => {
  const { receiver, egress, post, url } = await setUpRaw(t, (socket) => {
    if (receiver.sockets.length === 1) socket.write(EMPTY);
  });
  await post(url);
  const places = countPlaces();
  const cut = post(url, { freshConnection: true, admit: places.admit });
  await until(() => receiver.received.split("POST").length === 3, "the second message");
  egress.close();
  assert.deepEqual(await cut, failed("reset"));
  await Promise.all(receiver.sockets.map(closed));
  await until(() => places.held === 0, "the place is left");
  assert.deepEqual(await post(url), failed("reset"));
  assert.equal(receiver.sockets.length, 2);
});

test("many messages at once each get their own answer", async (t) => {
  const receiver: TlsReceiver = await startTlsReceiver(
    t,
    ({ body }, response) => response.end(body),
    { identity: IDENTITY },
  );
  const { post } = openTestEgress(t, { ca: CA, answers: { [HOST]: ["127.0.0.1"] } });
  const url = `https://${HOST}:${receiver.port}/`;
  for (let round = 0; round < 5; round++) {
    const bodies = Array.from({ length: 20 }, (_, i) => Buffer.from(`message ${round} ${i}`));
    const replies = await Promise.all(
      bodies.map((body) => post(url, { body, responseBytesMax: 100 })),
    );
    assert.deepEqual(
      replies.map((reply) => reply.kind === "answered" && reply.body.toString()),
      bodies.map(String),
    );
  }
  assert.equal(receiver.requests.length, 100);
});
