/**
 * An MCP server on stdio. Its arguments are the names of its tools, or `--fail` to end before it
 * answers. `--variable NAME` makes it end if its environment lacks the variable.
 */

import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [first = "", ...rest] = process.argv.slice(2);
if (first === "--fail") process.exit(1);
if (first === "--variable" && process.env[rest.shift() ?? ""] === undefined) process.exit(1);
const names = first.startsWith("--") ? rest : [first, ...rest];

const server = new Server({ name: "tools", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => {
  return { tools: names.map((name) => ({ name, inputSchema: { type: "object" as const } })) };
});
server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
  return { content: [{ type: "text", text: `ran ${params.name}` }] };
});
await server.connect(new StdioServerTransport());
