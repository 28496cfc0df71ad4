/**
 * The reference server behind a real check of access tokens: it serves metadata of its
 * authorization server, and forwards requests with a valid token.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Owner } from "@countersign/testing/child";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { SCOPE } from "./authorization-server.ts";
import { CREDENTIAL, startEverything } from "./everything-over-http.ts";

export interface ProtectedServer {
  readonly url: string;
  /** Tokens that it has accepted. */
  readonly accepted: readonly string[];
  /** Replaces members of the metadata. */
  readonly metadata: Record<string, unknown>;
  /** Tokens that it rejects although they are valid. */
  readonly revoked: Set<string>;
  /** Tokens of the authorization server do not have this scope. */
  requireScope(scope: string): void;
  /** Every value of Authorization. */
  readonly received: readonly string[];
}

export async function startProtectedServer(owner: Owner, issuer: string): Promise<ProtectedServer> {
  const everything = await startEverything(owner);
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  const accepted: string[] = [];
  const received: string[] = [];
  const revoked = new Set<string>();
  const metadata: Record<string, unknown> = {};
  let missing: string | undefined;
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  owner.after(async () => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `${origin}/mcp`;
  const wellKnown = "/.well-known/oauth-protected-resource/mcp";

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.url === wellKnown) {
      const usual = { resource: url, authorization_servers: [issuer], scopes_supported: [SCOPE] };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ...usual, ...metadata }));
      return;
    }
    const { authorization = "" } = incoming.headers;
    received.push(authorization);
    const token = authorization.replace("Bearer ", "");
    if (revoked.has(token) || !(await isValid(token))) {
      const challenge = `Bearer resource_metadata="${origin}${wellKnown}", scope="${SCOPE}"`;
      response.writeHead(401, { "www-authenticate": challenge }).end();
      return;
    }
    if (missing !== undefined) {
      const challenge = `Bearer error="insufficient_scope", scope="${missing}"`;
      response.writeHead(403, { "www-authenticate": challenge }).end();
      return;
    }
    accepted.push(token);
    forward(incoming, response);
  }

  async function isValid(token: string): Promise<boolean> {
    try {
      await jwtVerify(token, keys, { issuer, audience: url });
      return true;
    } catch {
      return false;
    }
  }

  function forward(incoming: IncomingMessage, response: ServerResponse): void {
    const headers = { ...incoming.headers, authorization: `Bearer ${CREDENTIAL}` };
    const { method = "GET" } = incoming;
    const sent = request(everything.url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    sent.on("error", () => response.destroy());
    response.on("close", () => sent.destroy());
    incoming.pipe(sent);
  }

  const requireScope = (scope: string) => {
    missing = scope;
  };
  return { url, accepted, metadata, revoked, received, requireScope };
}
