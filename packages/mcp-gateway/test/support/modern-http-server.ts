/**
 * A real MCP server that speaks only 2026-07-28 over HTTP. It keeps the headers and the text of
 * each request. Its tool `hang` ends only when the client cancels the call.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { Owner } from "@countersign/testing/child";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";

export interface ModernHttpServer {
  readonly url: string;
  readonly requests: { readonly headers: Headers; readonly body: string }[];
  /** Ends the connections of all subscriptions. */
  dropSubscriptions(): void;
  /** Notifies subscriptions that the tools changed. */
  announce(): void;
  /** Resolves when a call of `hang` was cancelled. */
  readonly cancelled: Promise<void>;
}

export async function startModernHttpServer(owner: Owner): Promise<ModernHttpServer> {
  const requests: { readonly headers: Headers; readonly body: string }[] = [];
  const subscriptions = new Set<ServerResponse>();
  const cancelled = Promise.withResolvers<void>();
  const handler = createMcpHandler(() => makeServer(cancelled.resolve), { legacy: "reject" });
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const headers = new Headers(request.headers as Record<string, string>);
    let body = "";
    for await (const chunk of request) body += String(chunk);
    requests.push({ headers, body });
    if (body.includes('"subscriptions/listen"')) subscriptions.add(response);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const { method = "GET" } = request;
    const url = new URL(request.url ?? "", "http://127.0.0.1");
    const init = { method, headers, signal: gone.signal };
    const web = new Request(url, method === "POST" ? { ...init, body } : init);
    const answer = await handler.fetch(web);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.flushHeaders();
    if (answer.body === null) response.end();
    else
      Readable.fromWeb(answer.body as never)
        .on("error", () => {})
        .pipe(response);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  owner.after(async () => {
    server.close();
    server.closeAllConnections();
    await handler.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    requests,
    dropSubscriptions: () => {
      for (const response of subscriptions) response.destroy();
      subscriptions.clear();
    },
    announce: () => handler.notify.toolsChanged(),
    cancelled: cancelled.promise,
  };
}

function makeServer(cancelled: () => void): McpServer {
  const server = new McpServer(
    { name: "modern-http", version: "1" },
    { capabilities: { tools: { listChanged: true } } },
  );
  const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
  const inputSchema = z.object({ text: z.string().optional() });
  server.registerTool("écho", { inputSchema }, async (args) => text(JSON.stringify(args)));
  const region = z.string().optional().meta({ "x-mcp-header": "Region" });
  const limit = z.int().optional().meta({ "x-mcp-header": "Limit" });
  const query = z.object({ region, options: z.object({ limit }).optional() });
  server.registerTool("query", { inputSchema: query }, async (args) => text(JSON.stringify(args)));
  const rate = z.object({ rate: z.number().meta({ "x-mcp-header": "Rate" }) });
  server.registerTool("invalid", { inputSchema: rate }, async () => text("ran"));
  server.registerTool("hang", { inputSchema }, async (_args, context) => {
    const { signal } = context.mcpReq;
    if (!signal.aborted) await once(signal, "abort");
    cancelled();
    return text("cancelled");
  });
  return server;
}
