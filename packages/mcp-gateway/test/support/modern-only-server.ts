/**
 * A real MCP server that speaks only 2026-07-28. Its tool `grow` adds the tool `new`.
 *
 * Started by: gateways in tests.
 */

import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

serveStdio(
  () => {
    const server = new McpServer(
      { name: "modern-only", version: "1" },
      { instructions: "Use echo.", capabilities: { tools: { listChanged: true } } },
    );
    const inputSchema = z.object({ text: z.string().optional() });
    const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
    server.registerTool("echo", { inputSchema }, async (args) => text(JSON.stringify(args)));
    server.registerTool("grow", { inputSchema }, async () => {
      server.registerTool("new", { inputSchema }, async () => text("new"));
      return text("grown");
    });
    return server;
  },
  { legacy: "reject" },
);
