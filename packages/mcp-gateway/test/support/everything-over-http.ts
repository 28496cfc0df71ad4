/**
 * The reference server behind the SDK's own Streamable HTTP, on a free port. It keeps received
 * messages exactly as they came, and never answers a message that contains `hang`.
 */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Owner } from "@countersign/testing/child";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";

export const CREDENTIAL = "crm-secret";

export interface HttpServerScene {
  readonly url: string;
  readonly bodies: readonly string[];
  /** The values of Authorization. */
  readonly authorizations: readonly (string | undefined)[];
  /** Ends all connections and listens no more. */
  stop(): void;
}

interface Everything {
  readonly server: { connect(transport: Transport): Promise<void> };
  cleanup(sessionId?: string): void;
}

const manifest = import.meta.resolve("@modelcontextprotocol/server-everything/package.json");

/** @param redirectTo answers everything with a redirect there */
export async function startEverything(owner: Owner, redirectTo?: string): Promise<HttpServerScene> {
  const { createServer: create } = (await import(
    new URL("dist/server/index.js", manifest).href
  )) as { createServer(): Everything };
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const bodies: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    bodies.push(body);
    authorizations.push(request.headers.authorization);
    if (request.headers.authorization !== `Bearer ${CREDENTIAL}`) {
      response.writeHead(401).end();
      return;
    }
    if (redirectTo !== undefined) {
      response.writeHead(307, { location: redirectTo }).end();
      return;
    }
    if (body.includes('"message":"hang"')) {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      return;
    }
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    const transport = known ?? (await open(create(), sessions));
    await transport.handleRequest(request, response, body === "" ? undefined : JSON.parse(body));
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  owner.after(async () => stop());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, bodies, authorizations, stop };
}

async function open(
  everything: Everything,
  sessions: Map<string, StreamableHTTPServerTransport>,
): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  transport.onclose = () => everything.cleanup(transport.sessionId);
  await everything.server.connect(transport as Transport);
  return transport;
}
