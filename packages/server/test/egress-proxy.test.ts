import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { type ConnectProxy, startConnectProxy } from "./support/connect-proxy.ts";
import { startTcpListener } from "./support/raw-receiver.ts";
import { createSelfSigned } from "./support/self-signed.ts";
import { ATTEMPT_MS, openTestEgress } from "./support/test-egress.ts";
import { startTlsReceiver } from "./support/tls-receiver.ts";
import { until } from "./support/until.ts";

const run = promisify(execFile);

const HOST = "receiver.example";
const failed = (reason: string) => ({ kind: "unreachable", reason });

/** Sends a message from a process with only these environment variables. */
async function postOnce(
  url: string,
  env: Record<string, string>,
  ...proxy: string[]
): Promise<object> {
  const script = join(import.meta.dirname, "support", "post-once.ts");
  const { stdout } = await run(process.execPath, [script, url, ...proxy], { env });
  return JSON.parse(stdout) as object;
}

function writeCertificate(t: TestContext, certificate: string): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-egress-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "root.pem");
  writeFileSync(file, certificate);
  return file;
}

test("a proxy that the environment names is not used; roots that it adds are", async (t) => {
  const receiver = await startTlsReceiver(t);
  const proxy = await startConnectProxy(t, () => ({ port: receiver.port }));
  const names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"];
  const env = {
    ...Object.fromEntries(names.map((name) => [name, proxy.url])),
    NODE_USE_ENV_PROXY: "1",
    NODE_EXTRA_CA_CERTS: writeCertificate(t, receiver.certificate),
  };
  const reply = { kind: "answered", status: 204 };
  assert.deepEqual(await postOnce(receiver.url(), env), reply);
  // Not on the way to the operator's own proxy either.
  const chosen = await startConnectProxy(t, () => ({ port: receiver.port }));
  assert.deepEqual(await postOnce(receiver.url(), env, chosen.url), reply);
  assert.equal(receiver.requests.length, 2);
  assert.equal(chosen.connections, 1);
  assert.equal(proxy.connections, 0);
});

test("an environment that switches certificates off does not", async (t) => {
  const receiver = await startTlsReceiver(t);
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: "0", NODE_NO_WARNINGS: "1" };
  assert.deepEqual(await postOnce(receiver.url(), env), failed("tls"));
  assert.equal(receiver.requests.length, 0);
});

async function setUp(t: TestContext, route?: Parameters<typeof startConnectProxy>[1]) {
  const identity = createSelfSigned({ names: [HOST], addresses: ["127.0.0.1", "93.184.216.34"] });
  const receiver = await startTlsReceiver(t, undefined, { identity });
  const proxy: ConnectProxy = await startConnectProxy(
    t,
    route ?? (() => ({ port: receiver.port })),
  );
  const ca = [identity.certificate];
  const egress = openTestEgress(t, { allow: [], proxyUrl: proxy.url, ca });
  return { receiver, proxy, ...egress };
}

test("a name goes to the forward proxy unresolved, and TLS reaches the receiver", async (t) => {
  const { receiver, proxy, post, resolver } = await setUp(t);
  for (let i = 0; i < 2; i++) {
    assert.equal((await post(`https://${HOST}:8443/hook`)).kind, "answered");
  }
  assert.deepEqual(proxy.targets, [`${HOST}:8443`]);
  assert.deepEqual(resolver.queried, []);
  const { headers, serverName, path } = await receiver.next();
  assert.equal(serverName, HOST);
  assert.equal(headers.host, `${HOST}:8443`);
  assert.equal(path, "/hook");
  assert.equal(receiver.requests.length, 2);
  assert.equal(receiver.connections, 1);
});

test("the port is always said to the proxy, and a place is asked for at the name", async (t) => {
  const { proxy, post } = await setUp(t);
  const places: string[] = [];
  const admit = async (address: string) => {
    places.push(address);
    return () => undefined;
  };
  assert.equal((await post(`https://${HOST}/hook`, { admit })).kind, "answered");
  assert.deepEqual(proxy.targets, [`${HOST}:443`]);
  assert.deepEqual(places, [HOST]);
});

test("[delivery.url.addresses] with a forward proxy literals are still judged here", async (t) => {
  const { proxy, post } = await setUp(t);
  for (const host of ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[fd00::1]"]) {
    assert.deepEqual(await post(`https://${host}/`), { kind: "refused" }, host);
  }
  assert.equal(proxy.connections, 0);
  assert.equal((await post("https://93.184.216.34/")).kind, "answered");
  await post("https://[2606:4700::1111]/");
  assert.deepEqual(proxy.targets, ["93.184.216.34:443", "[2606:4700::1111]:443"]);
});

test("[delivery.url.addresses] 403 and 407 from the forward proxy mean refused; its other error statuses mean unreachable", async (t) => {
  for (const status of [403, 407]) {
    const { post } = await setUp(t, () => ({ status }));
    assert.deepEqual(await post(`https://${HOST}/`), { kind: "refused" });
  }
  for (const status of [400, 404, 500, 502, 503, 504]) {
    const { post } = await setUp(t, () => ({ status }));
    assert.deepEqual(await post(`https://${HOST}/`), failed("connect"));
  }
});

test("the certificate is the receiver's to show, also through a forward proxy", async (t) => {
  const other = createSelfSigned({ names: ["other.example"] });
  const impostor = await startTlsReceiver(t, undefined, { identity: other });
  const { post } = await setUp(t, () => ({ port: impostor.port }));
  assert.deepEqual(await post(`https://${HOST}/`), failed("tls"));
  assert.equal(impostor.requests.length, 0);
});

test("[event.retry.ten-seconds] a forward proxy that stays silent takes no more than the message's time", async (t) => {
  const { proxy, post, clock } = await setUp(t, () => undefined);
  const reply = post(`https://${HOST}/`);
  await until(() => proxy.targets.length === 1, "the proxy is asked");
  clock.advance(ATTEMPT_MS);
  assert.deepEqual(await reply, failed("timeout"));
});

test("a tunnel that sends bytes before the handshake is unreachable", async (t) => {
  const listener = await startTcpListener(t, (socket) => {
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-a\r\n"));
  });
  const { post } = openTestEgress(t, { proxyUrl: `http://127.0.0.1:${listener.port}` });
  assert.deepEqual(await post(`https://${HOST}/`), failed("connect"));
});

test("nothing goes around a forward proxy that is not there", async (t) => {
  const receiver = await startTlsReceiver(t);
  const options = { ca: [receiver.certificate], proxyUrl: "http://127.0.0.9:9" };
  const { post } = openTestEgress(t, options);
  assert.deepEqual(await post(receiver.url()), failed("connect"));
  assert.equal(receiver.connections, 0);
});

test("a forward proxy over TLS must show its own certificate", async (t) => {
  const receiver = await startTlsReceiver(t);
  const identity = createSelfSigned({ names: ["proxy.example"], addresses: ["127.0.0.1"] });
  const proxy = await startConnectProxy(t, () => ({ port: receiver.port }), identity);
  const trusted = writeCertificate(t, receiver.certificate + identity.certificate);
  const env = { NODE_EXTRA_CA_CERTS: trusted };
  const reply = await postOnce(receiver.url(), env, proxy.url);
  assert.deepEqual(reply, { kind: "answered", status: 204 });
  assert.deepEqual(proxy.targets, [`localhost:${receiver.port}`]);
  const untrusting = {
    NODE_EXTRA_CA_CERTS: writeCertificate(t, receiver.certificate),
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
    NODE_NO_WARNINGS: "1",
  };
  assert.deepEqual(await postOnce(receiver.url(), untrusting, proxy.url), failed("connect"));
  assert.equal(receiver.requests.length, 1);
});

test("the server rejects an invalid forward proxy URL at once", (t) => {
  assert.throws(() => openTestEgress(t, { proxyUrl: "no proxy" }), /Invalid URL/);
});
