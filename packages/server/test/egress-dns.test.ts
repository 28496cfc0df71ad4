import assert from "node:assert/strict";
import { test } from "node:test";
import { createResolver, type Resolver } from "../src/egress/resolve-host.ts";
import { startDnsServer } from "./support/dns-server.ts";
import { createSelfSigned } from "./support/self-signed.ts";
import { ATTEMPT_MS, openTestEgress } from "./support/test-egress.ts";
import { startTlsReceiver } from "./support/tls-receiver.ts";
import { turns, until } from "./support/until.ts";

const HOST = "receiver.example";
const SUBJECTS = { names: [HOST], addresses: ["127.0.0.1"] };
const REFUSED = { kind: "refused" };
const NO_ADDRESS = { kind: "unreachable", reason: "dns" };
const TIME_OVER = { kind: "unreachable", reason: "timeout" };

test("[delivery.url.every-connection] a name is looked up before every message, also when a connection to it is open", async (t) => {
  const receiver = await startTlsReceiver(t, undefined, { subjects: SUBJECTS });
  const answers = { [HOST]: ["127.0.0.1"] };
  const { post, resolver } = openTestEgress(t, { answers, ca: [receiver.certificate] });
  for (let i = 0; i < 3; i++) {
    assert.equal((await post(`https://${HOST}:${receiver.port}/`)).kind, "answered");
  }
  assert.deepEqual(resolver.queried, [HOST, HOST, HOST]);
  assert.equal(receiver.connections, 1);
});

test("[delivery.url.every-connection] a name that changes to a private address is rejected, and its open connection is not used", async (t) => {
  const receiver = await startTlsReceiver(t, undefined, { subjects: SUBJECTS });
  const options = { answers: { [HOST]: ["127.0.0.1"] }, allow: ["127.0.0.1/32"] };
  const { post, resolver } = openTestEgress(t, { ...options, ca: [receiver.certificate] });
  const url = `https://${HOST}:${receiver.port}/`;
  assert.equal((await post(url)).kind, "answered");
  for (const answer of [["10.0.0.1"], ["127.0.0.1", "169.254.169.254"]]) {
    resolver.answers[HOST] = answer;
    assert.deepEqual(await post(url), REFUSED);
  }
  assert.equal(receiver.requests.length, 1);
  resolver.answers[HOST] = ["127.0.0.1"];
  assert.equal((await post(url)).kind, "answered");
  assert.equal(receiver.requests.length, 2);
});

test("[delivery.url.every-connection] an open connection is used only while the name still has its address", async (t) => {
  const identity = createSelfSigned(SUBJECTS);
  const first = await startTlsReceiver(t, undefined, { identity });
  const place = { host: "127.0.0.2", port: first.port };
  const second = await startTlsReceiver(t, undefined, { identity, ...place });
  const answers = { [HOST]: ["127.0.0.1"] };
  const { post, resolver } = openTestEgress(t, { answers, ca: [identity.certificate] });
  const url = `https://${HOST}:${first.port}/`;
  await post(url);
  resolver.answers[HOST] = ["127.0.0.2"];
  await post(url);
  assert.deepEqual([first.requests.length, second.requests.length], [1, 1]);
  // It has both again: the connection that is open is taken, whichever answer comes first.
  resolver.answers[HOST] = ["127.0.0.3", "127.0.0.1"];
  const tried: string[] = [];
  const admit = async (address: string) => {
    tried.push(address);
    return () => undefined;
  };
  await post(url, { admit });
  assert.deepEqual(tried, ["127.0.0.1"]);
  assert.deepEqual([first.requests.length, second.requests.length], [2, 1]);
  assert.deepEqual([first.connections, second.connections], [1, 1]);
});

test("[delivery.url.every-connection] the server connects to the address that it checked, without another lookup", async (t) => {
  const receiver = await startTlsReceiver(t, undefined, { subjects: SUBJECTS });
  const dns = await startDnsServer(t, (_, type) => ({
    // Rebinding: one good answer for the check, then where the attacker wants the connection.
    addresses: type === "AAAA" ? [] : dns.questions.length <= 2 ? ["127.0.0.1"] : ["127.0.0.9"],
  }));
  const resolver = createResolver({ servers: [dns.address] });
  const options = { allow: ["127.0.0.1/32"], ca: [receiver.certificate] };
  const { post } = openTestEgress(t, { ...options, resolver });
  const url = `https://${HOST}:${receiver.port}/`;
  assert.equal((await post(url)).kind, "answered");
  assert.equal(dns.questions.length, 2);
  const { headers, serverName } = await receiver.next();
  assert.equal(headers.host, `${HOST}:${receiver.port}`);
  assert.equal(serverName, HOST);
  assert.deepEqual(await post(url), REFUSED);
});

test("[delivery.url.addresses] the server rejects an alias to a private address", async (t) => {
  const dns = await startDnsServer(t, (_, type) => ({
    alias: "metadata.internal",
    addresses: type === "A" ? ["169.254.169.254"] : [],
  }));
  const resolver = createResolver({ servers: [dns.address] });
  const { post } = openTestEgress(t, { allow: [], resolver });
  assert.deepEqual(await post(`https://${HOST}/`), REFUSED);
});

test("a name without addresses is not reachable", async (t) => {
  const dns = await startDnsServer(t, () => ({ code: 3 }));
  const resolver = createResolver({ servers: [dns.address] });
  assert.deepEqual(await openTestEgress(t, { resolver }).post(`https://${HOST}/`), NO_ADDRESS);
  const empty = openTestEgress(t, { answers: { [HOST]: [] } });
  assert.deepEqual(await empty.post(`https://${HOST}/`), NO_ADDRESS);
});

test("[delivery.url.addresses] when a name server answers for one family only, nothing is sent", async (t) => {
  const receiver = await startTlsReceiver(t, undefined, { subjects: SUBJECTS });
  const dns = await startDnsServer(t, (_, type) => {
    return type === "A" ? { addresses: ["127.0.0.1"] } : { code: 2 };
  });
  const resolver = createResolver({ servers: [dns.address] });
  const { post } = openTestEgress(t, { resolver, ca: [receiver.certificate] });
  assert.deepEqual(await post(`https://${HOST}:${receiver.port}/`), NO_ADDRESS);
  assert.equal(receiver.connections, 0);
});

test("[event.retry.ten-seconds] a name server that stays silent takes no more than the message's time", async (t) => {
  const dns = await startDnsServer(t, () => undefined);
  const resolver = createResolver({ servers: [dns.address], timeoutMs: 60_000 });
  const { post, clock } = openTestEgress(t, { resolver });
  const reply = post(`https://${HOST}/`);
  await until(() => dns.questions.length === 2, "the questions");
  clock.advance(ATTEMPT_MS);
  assert.deepEqual(await reply, TIME_OVER);
});

test("[event.retry.ten-seconds] a look-up that never ends, and never hears that it is cancelled, takes no longer", async (t) => {
  const resolver: Resolver = { resolve: () => new Promise(() => {}) };
  const { post, clock } = openTestEgress(t, { resolver });
  let isOver = false;
  const reply = post(`https://${HOST}/`).finally(() => {
    isOver = true;
  });
  clock.advance(ATTEMPT_MS - 1);
  await turns();
  assert.equal(isOver, false);
  clock.advance(1);
  assert.deepEqual(await reply, TIME_OVER);
});
