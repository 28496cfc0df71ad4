/** Rejects a call over HTTP with `Mcp-Param-` headers that differ from its arguments. */

import { objectIn, type Reply } from "./exact-message.ts";
import { findMismatch, type ParamHeader, paramHeadersOf } from "./param-headers.ts";
import type { IncomingRequest } from "./peer.ts";
import type { McpServer } from "./server.ts";
import { mismatch } from "./stateless-http.ts";

/** @returns undefined when the headers agree, and for a client without such headers */
export async function paramMismatch(
  { http, params }: IncomingRequest,
  server: McpServer,
  tool: string,
): Promise<Reply | undefined> {
  const args = objectIn(params, "arguments");
  if (http === undefined || args === undefined) return undefined;
  const found = findMismatch(await headersOf(server, tool), args, http.headers);
  return found && mismatch(`Mcp-Param-${found.name}`, "its argument");
}

/** A failure to list the tools also fails the call. Invalid annotations require no headers. */
async function headersOf(server: McpServer, tool: string): Promise<readonly ParamHeader[]> {
  try {
    const listed = await server.tool(tool);
    return listed === undefined ? [] : paramHeadersOf(listed.definition);
  } catch {
    return [];
  }
}
