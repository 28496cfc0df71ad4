import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { connect, createServer } from "node:tls";
import { createAuthority, issue, isUsable } from "../src/receiver/certificates.ts";

test("a certificate of the authority is one for its host, and for no other", () => {
  const authority = createAuthority();
  const root = new X509Certificate(authority.certificate);
  assert.equal(root.ca, true);
  for (const host of ["127.0.0.1", "::1", "2001:db8::7:0:1", "receiver.example.com"]) {
    const issued = new X509Certificate(issue(authority, host).certificate);
    assert.equal(issued.ca, false);
    assert.ok(issued.checkIssued(root) && issued.verify(root.publicKey), host);
    const isName = host.includes("example");
    assert.ok(isName ? issued.checkHost(host) : issued.checkIP(host), host);
    assert.equal(issued.checkHost("other.example.com"), undefined);
    assert.equal(issued.checkIP("10.0.0.1"), undefined);
  }
});

test("a client that trusts the authority connects, and one of another does not", async (t) => {
  const [authority, other] = [createAuthority(), createAuthority()];
  const { key, certificate } = issue(authority, "localhost");
  const server = createServer({ key, cert: certificate }, (socket) => socket.end());
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const options = { port, host: "127.0.0.1", servername: "localhost" };
  const trusted = connect({ ...options, ca: authority.certificate });
  await once(trusted, "secureConnect");
  trusted.destroy();
  const refused = connect({ ...options, ca: other.certificate });
  await assert.rejects(once(refused, "secureConnect"), /certificate/);
});

test("an authority is usable with its own key alone", () => {
  const [one, other] = [createAuthority(), createAuthority()];
  assert.equal(isUsable(one), true);
  assert.equal(isUsable({ certificate: one.certificate, key: other.key }), false);
});
