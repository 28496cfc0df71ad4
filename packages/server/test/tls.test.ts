import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { ConfigError, readConfig, toSettings } from "../src/index.ts";
import { callOverTls } from "./support/call-over-tls.ts";
import { type AnyAnswer, assertRefused, UUID } from "./support/envelope.ts";
import { connectRaw } from "./support/raw-connection.ts";
import { createSelfSigned } from "./support/self-signed.ts";
import { startTestProvider } from "./support/test-provider.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-tls-"));
after(() => rmSync(directory, { recursive: true }));

const { key, certificate } = createSelfSigned();
const FILES = { tls_cert: join(directory, "cert.pem"), tls_key: join(directory, "key.pem") };
writeFileSync(FILES.tls_cert, certificate);
writeFileSync(FILES.tls_key, key, { mode: 0o600 });

const server = await startTestProvider({ after }, { settings: FILES });

/** Over HTTPS, trusting our certificate alone. */
function callSecurely(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = "",
): Promise<AnyAnswer> {
  return callOverTls(server.url + path, { method, headers, body, certificate });
}

test("[ours.config.tls] [service.https.required] with certificate and key the operations are served over HTTPS", async () => {
  assert.match(server.url, /^https:/);
  const token = await server.token({ kind: "provisioner" });
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "idempotency-key": "a key",
  };
  const created = await callSecurely("POST", "/v1/instances", headers, "{}");
  assert.equal(created.status, 201);
  assert.match(created.headers.get("x-request-id") ?? "", UUID);
  const { instance } = JSON.parse(created.text) as { instance: { id: string } };
  const read = await callSecurely("GET", `/v1/instances/${instance.id}`, headers);
  assert.deepEqual(JSON.parse(read.text), instance);
  const outsider = await callSecurely("GET", `/v1/instances/${instance.id}`);
  assertRefused(outsider, 401, "invalid_credential");
});

test("[ours.config.tls] the certificate that is shown is the configured one", async (t) => {
  const { socket } = await connectRaw(t, server.url, certificate);
  assert.ok("getPeerX509Certificate" in socket);
  const shown = (socket as ReturnType<typeof connectTls>).getPeerX509Certificate();
  assert.equal(shown?.toString(), certificate);
});

test("[ours.exchange.request-id.everywhere] over TLS too, a message that is not HTTP returns 400 in the envelope", async (t) => {
  const connection = await connectRaw(t, server.url, certificate);
  connection.send("not a request line\r\n\r\n");
  assertRefused(await connection.answer(), 400, "invalid_request");
  assert.equal(await connection.rest(), "");
});

test("[service.https.required] a port with HTTPS does not answer plain HTTP", async (t) => {
  const connection = await connectRaw(t, server.url.replace("https:", "http:"));
  connection.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const received = await connection.rest().catch(String);
  assert.doesNotMatch(received, /HTTP\/1\.1 200|status/);
  assert.equal((await callSecurely("GET", "/healthz")).status, 200);
});

test("[ours.config.tls] TLS versions before 1.2 are rejected", async (t) => {
  const { port } = new URL(server.url);
  const old = { maxVersion: "TLSv1.1", minVersion: "TLSv1", ciphers: "ALL:@SECLEVEL=0" } as const;
  const socket = connectTls({ host: "localhost", port: Number(port), ca: certificate, ...old });
  t.after(() => {
    socket.destroy();
  });
  const outcome = await new Promise((resolve) => {
    socket.once("secureConnect", () => resolve("connected"));
    socket.once("error", resolve);
  });
  assert.match(String(outcome), /alert protocol version|ECONNRESET/);
});

function settingsFor(flags: Readonly<Record<string, string>>) {
  return toSettings(readConfig(flags, {}));
}

const ELSEWHERE = ["0.0.0.0", "::", "192.168.1.5", "10.0.0.1", "fe80::1", "countersign.example"];
const NEARLY_LOOPBACK = ["", "127.example.com", "localhost.example.com", "1127.0.0.1", "::2"];

for (const host of [...ELSEWHERE, ...NEARLY_LOOPBACK]) {
  test(`[ours.config.loopback] [service.https.required] listening on ${JSON.stringify(host)} without TLS or a configured proxy fails with a clear line`, () => {
    assert.throws(
      () => settingsFor({ host }),
      (error) => {
        assert.ok(error instanceof ConfigError);
        assert.doesNotMatch(error.message, /\n/);
        assert.match(
          error.message,
          /^host: .*requires encryption.*tls_cert.*tls_terminated_by_proxy/,
        );
        return error.message.includes(host);
      },
    );
  });
}

test("[ours.config.loopback] on loopback neither is needed", () => {
  for (const host of ["127.0.0.1", "127.8.8.8", "::1", "localhost"]) {
    assert.equal(settingsFor({ host }).host, host);
  }
});

test("[ours.config.loopback] [ours.config.tls] elsewhere TLS is enough, but not half of it", () => {
  const flags = { host: "0.0.0.0", ...FILES };
  assert.equal(settingsFor(flags).host, "0.0.0.0");
  for (const half of ["tls_cert", "tls_key"] as const) {
    const one = { host: "127.0.0.1", [half]: FILES[half] };
    assert.throws(() => settingsFor(one), /tls_cert and tls_key: set both or neither/);
  }
});

test("[ours.config.loopback] [service.https.required] with a configured HTTPS proxy, the server listens outside loopback", async (t) => {
  const settings = { host: "0.0.0.0", tls_terminated_by_proxy: "true" };
  const open = await startTestProvider(t, { settings });
  const { port } = new URL(open.url);
  const response = await fetch(`http://127.0.0.1:${port}/healthz`);
  assert.equal(response.status, 200);
});

test("[ours.config.loopback] by default it listens on loopback", async () => {
  assert.equal(settingsFor({}).host, "127.0.0.1");
});
