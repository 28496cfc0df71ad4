/** A loopback model for Codex that proposes one call of an MCP tool, and then ends its turn. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { Owner } from "@countersign/testing/child";

export interface CodexModel {
  readonly url: string;
  /** The result of the call as Codex reports it to the model. */
  readonly result: () => string | undefined;
}

/** @param name with the namespace of the server, as Codex offers the tool to its model */
export async function startCodexModel(
  owner: Owner,
  namespace: string,
  name: string,
): Promise<CodexModel> {
  let result: string | undefined;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (!request.url?.startsWith("/v1/responses")) {
      response.writeHead(404).end();
      return;
    }
    const { input } = JSON.parse(body) as { input: Record<string, unknown>[] };
    const output = input.find(({ type }) => type === "function_call_output");
    if (output !== undefined) result = JSON.stringify(output.output);
    const call = { type: "function_call", id: "fc", call_id: "call", namespace, name };
    const content = [{ type: "output_text", text: "Done.", annotations: [] }];
    const item =
      output === undefined
        ? { ...call, arguments: "{}", status: "completed" }
        : { type: "message", id: "msg", role: "assistant", status: "completed", content };
    const answer = { id: "resp", object: "response", output: [item] };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const details = { input_tokens_details: null, output_tokens_details: null };
    const events = [
      { type: "response.created", response: { ...answer, output: [], status: "in_progress" } },
      { type: "response.output_item.done", output_index: 0, item },
      {
        type: "response.completed",
        response: { ...answer, status: "completed", usage: { ...usage, ...details } },
      },
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  owner.after(async () => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = Object(server.address()) as { readonly port: number };
  return { url: `http://127.0.0.1:${port}/v1`, result: () => result };
}
