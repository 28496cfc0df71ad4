import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { isIP, isIPv6 } from "node:net";
import { type TestContext, test } from "node:test";
import { parseCidr } from "../src/core/address.ts";
import { NO_ADDRESSES, NOT_PUBLIC, PUBLIC } from "./support/address-table.ts";
import { startRawReceiver } from "./support/raw-receiver.ts";
import { openTestEgress } from "./support/test-egress.ts";
import { startTlsReceiver } from "./support/tls-receiver.ts";
import { until } from "./support/until.ts";

const REFUSED = { kind: "refused" };
const HOST = "receiver.example";

/** Sockets that this process opens, to anywhere, while the test runs. */
function watchSockets(t: TestContext): { readonly opened: number } {
  let opened = 0;
  const count = () => {
    opened++;
  };
  subscribe("net.client.socket", count);
  t.after(() => unsubscribe("net.client.socket", count));
  return {
    get opened() {
      return opened;
    },
  };
}

/** A literal as a URL has it; undefined for the spellings that a URL refuses. */
function literalUrl(address: string, port: number): string | undefined {
  const host = isIPv6(address) ? new URL(`https://[${address}]/`).hostname : address;
  return isIP(address) === 0 ? undefined : `https://${host}:${port}/hook`;
}

test("[delivery.url.addresses] the client opens no socket to an address literal that is not public", async (t) => {
  const receiver = await startTlsReceiver(t);
  const sockets = watchSockets(t);
  const { post, resolver } = openTestEgress(t, { allow: [], ca: [receiver.certificate] });
  for (const address of NOT_PUBLIC) {
    const url = literalUrl(address, receiver.port) ?? "";
    assert.deepEqual(await post(url), REFUSED, address);
  }
  assert.equal(sockets.opened, 0);
  assert.equal(receiver.connections, 0);
  assert.deepEqual(resolver.queried, []);
});

test("[delivery.url.addresses] the client opens no socket for a name with one address that is not public", async (t) => {
  const receiver = await startTlsReceiver(t);
  const sockets = watchSockets(t);
  const { post, resolver } = openTestEgress(t, { allow: [], ca: [receiver.certificate] });
  const url = `https://${HOST}:${receiver.port}/hook`;
  for (const address of [...NOT_PUBLIC, ...NO_ADDRESSES]) {
    const company = [[], ["8.8.8.8"], ["2606:4700::1111"], [...PUBLIC]];
    for (const others of company) {
      for (const answer of [
        [address, ...others],
        [...others, address],
      ]) {
        resolver.answers[HOST] = answer;
        assert.deepEqual(await post(url), REFUSED, JSON.stringify(answer));
      }
    }
  }
  assert.equal(sockets.opened, 0);
  assert.equal(receiver.connections, 0);
});

test("[delivery.url.addresses] a private AAAA beside a public A refuses both, and so does the reverse", async (t) => {
  const sockets = watchSockets(t);
  const { post, resolver } = openTestEgress(t, { allow: [] });
  for (const answer of [
    ["93.184.216.34", "fd00::1"],
    ["93.184.216.34", "::1"],
    ["10.0.0.1", "2606:2800:220:1::1"],
    ["93.184.216.34", "93.184.216.35", "::ffff:127.0.0.1"],
  ]) {
    resolver.answers[HOST] = answer;
    assert.deepEqual(await post(`https://${HOST}/`), REFUSED, String(answer));
  }
  assert.equal(sockets.opened, 0);
});

test("[delivery.url.addresses] a refused message asks for no place", async (t) => {
  const { post } = openTestEgress(t, { allow: [] });
  const admit = async () => assert.fail("no place is needed");
  assert.deepEqual(await post("https://127.0.0.1/", { admit }), REFUSED);
});

test("[delivery.url.addresses] the operator's networks are reachable, by name and by literal, and nothing beside them", async (t) => {
  const receiver = await startTlsReceiver(t);
  const sockets = watchSockets(t);
  const options = { allow: ["127.0.0.1/32"], ca: [receiver.certificate] };
  const { post, resolver } = openTestEgress(t, options);
  for (const host of ["localhost", "127.0.0.1"]) {
    const reply = await post(`https://${host}:${receiver.port}/hook`);
    assert.equal(reply.kind, "answered", host);
  }
  resolver.answers[HOST] = ["127.0.0.1", "127.0.0.2"];
  assert.deepEqual(await post(`https://${HOST}:${receiver.port}/hook`), REFUSED);
  assert.deepEqual(await post(`https://127.0.0.2:${receiver.port}/hook`), REFUSED);
  assert.equal(receiver.requests.length, 2);
  assert.equal(sockets.opened, 2);
});

test("[delivery.url.addresses] an operator's NAT64 prefix opens no way to an IPv4 address that is not public", async (t) => {
  const sockets = watchSockets(t);
  const { post, resolver } = openTestEgress(t, { allow: [], nat64: ["64:ff9b::/96"] });
  for (const inner of NOT_PUBLIC.filter((address) => isIP(address) === 4)) {
    resolver.answers[HOST] = [`64:ff9b::${inner}`];
    assert.deepEqual(await post(`https://${HOST}/`), REFUSED, inner);
  }
  assert.equal(sockets.opened, 0);
});

test("[delivery.url.every-connection] an open connection is judged by the address that it has reached, before a byte is sent", async (t) => {
  const receiver = await startRawReceiver(t, (socket) => socket.end());
  const allow = [parseCidr("127.0.0.1/32")].filter((cidr) => cidr !== undefined);
  const rules = { allow: [...allow], nat64: [] };
  const { post } = openTestEgress(t, { rules, ca: [receiver.certificate] });
  // The rules change where nothing else could: after the check, before the connection.
  const admit = async () => {
    rules.allow = [];
    return () => undefined;
  };
  assert.deepEqual(await post(`https://127.0.0.1:${receiver.port}/`, { admit }), REFUSED);
  await until(() => receiver.sockets.every(({ closed }) => closed), "the connection ends");
  assert.equal(receiver.received, "");
});

test("a literal is not sent as SNI, and its certificate must name the address", async (t) => {
  const receiver = await startTlsReceiver(t, undefined, { host: "0.0.0.0" });
  const { post } = openTestEgress(t, { ca: [receiver.certificate] });
  assert.equal((await post(`https://127.0.0.1:${receiver.port}/`)).kind, "answered");
  assert.equal((await receiver.next()).serverName, "");
  const other = await post(`https://127.0.0.2:${receiver.port}/`);
  assert.deepEqual(other, { kind: "unreachable", reason: "tls" });
  assert.equal(receiver.requests.length, 1);
});

test("an IPv6 literal is reached, and named in brackets in the Host header", async (t) => {
  const subjects = { names: [], addresses: ["::1"] };
  const receiver = await startTlsReceiver(t, undefined, { subjects, host: "::1" });
  const { post } = openTestEgress(t, { allow: ["::1/128"], ca: [receiver.certificate] });
  const reply = await post(`https://[::1]:${receiver.port}/hook?a=1`);
  assert.equal(reply.kind, "answered");
  const { headers, path } = await receiver.next();
  assert.equal(headers.host, `[::1]:${receiver.port}`);
  assert.equal(path, "/hook?a=1");
});
