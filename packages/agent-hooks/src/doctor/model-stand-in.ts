/**
 * A loopback server that an agent takes for its model. It proposes one call, and records what the
 * agent reports as the result. As an HTTP proxy it refuses every connection, so an agent that uses
 * it as its proxy reaches nothing else.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export interface ModelStandIn {
  readonly url: string;
  /** Whether the agent has asked for a turn in which it runs tools. */
  readonly wasCalled: () => boolean;
  /** The results of the call as the agent reports them to the model. */
  readonly results: () => readonly string[];
  close(): void;
}

/** Above what an agent sends with its first turn, about 0.1 MiB. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;

type Json = Readonly<Record<string, unknown>>;

/** @param command of the shell call that the model proposes */
export async function startModelStandIn(command: string): Promise<ModelStandIn> {
  let wasCalled = false;
  let results: readonly string[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const answer = API.find(({ path }) => path.test(request.url ?? ""));
    const body = await readJson(request);
    if (answer === undefined || body === undefined) {
      response.writeHead(404).end();
      return;
    }
    const found = answer.results(body);
    if (found.length > 0) results = found;
    const tool = found.length === 0 ? answer.shellTool(body) : undefined;
    if (tool !== undefined) wasCalled = true;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of answer.events(tool === undefined ? undefined : { tool, command })) {
      const name = event.type === undefined ? "" : `event: ${event.type}\n`;
      response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
    }
    response.end(answer.end);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = Object(server.address()) as { readonly port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    wasCalled: () => wasCalled,
    results: () => results,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface ShellCall {
  readonly tool: string;
  readonly command: string;
}

/** Their names in the agents, which have one of them. */
const SHELL_TOOLS = ["bash", "Bash", "exec", "terminal", "run_commands", "run_shell_command"];

function shellToolOf(names: readonly unknown[]): string | undefined {
  return SHELL_TOOLS.find((name) => names.includes(name));
}

function argumentsOf(shell: ShellCall | undefined): object {
  // Cline rejects other members.
  if (shell?.tool === "run_commands") return { commands: [shell.command] };
  return { command: shell?.command, description: "countersign doctor" };
}

interface ModelApi {
  readonly path: RegExp;
  /** The name of the tool that runs shell commands. Undefined: this turn has none. */
  shellTool(body: Json): string | undefined;
  results(body: Json): string[];
  /** One turn: the call, or a closing text without one. */
  events(call: ShellCall | undefined): Json[];
  /** The last text of the stream, after the events. */
  readonly end?: string;
}

const ANTHROPIC_MESSAGES: ModelApi = {
  path: /^\/v1\/messages(\?|$)/,
  shellTool: ({ tools }) => shellToolOf(listOf(tools).map(({ name }) => name)),
  results: ({ messages }) => {
    const blocks = listOf(messages).flatMap(({ content }) => listOf(content));
    return blocks.filter(({ type }) => type === "tool_result").map(contentOf);
  },
  events: (shell) => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const call = { type: "tool_use", id: "toolu_canary", name: shell?.tool, input: {} };
    const delta =
      shell === undefined
        ? { type: "text_delta", text: "Done." }
        : { type: "input_json_delta", partial_json: JSON.stringify({ command: shell.command }) };
    const block = shell === undefined ? { type: "text", text: "" } : call;
    const reason = shell === undefined ? "end_turn" : "tool_use";
    const message = {
      id: "msg_canary",
      type: "message",
      role: "assistant",
      model: "canary",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    };
    return [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage },
      { type: "message_stop" },
    ];
  },
};

const OPENAI_RESPONSES: ModelApi = {
  path: /^\/v1\/responses(\?|$)/,
  shellTool: () => "exec_command",
  results: ({ input }) => {
    const outputs = listOf(input).filter(({ type }) => String(type).endsWith("_output"));
    return outputs.map(contentOf);
  },
  events: (shell) => {
    const item =
      shell === undefined
        ? {
            type: "message",
            id: "msg_canary",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: "Done.", annotations: [] }],
          }
        : {
            type: "function_call",
            id: "fc_canary",
            call_id: "call_canary",
            name: shell.tool,
            arguments: JSON.stringify({ cmd: shell.command }),
            status: "completed",
          };
    const response = { id: "resp_canary", object: "response", output: [item] };
    const usage = {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    };
    return [
      { type: "response.created", response: { ...response, output: [], status: "in_progress" } },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { ...response, status: "completed", usage } },
    ];
  },
};

const CHAT_COMPLETIONS: ModelApi = {
  path: /^\/v1\/chat\/completions(\?|$)/,
  shellTool: ({ tools }) => {
    return shellToolOf(listOf(tools).map((tool) => Object(tool.function).name));
  },
  results: ({ messages }) => {
    return listOf(messages)
      .filter(({ role }) => role === "tool")
      .map(contentOf);
  },
  events: (shell) => {
    const call = {
      index: 0,
      id: "call_canary",
      type: "function",
      function: {
        name: shell?.tool,
        arguments: JSON.stringify(argumentsOf(shell)),
      },
    };
    const delta =
      shell === undefined
        ? { role: "assistant", content: "Done." }
        : { role: "assistant", content: null, tool_calls: [call] };
    const reason = shell === undefined ? "stop" : "tool_calls";
    const chunk = {
      id: "chat_canary",
      object: "chat.completion.chunk",
      created: 1,
      model: "canary",
    };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return [
      { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: reason }], usage },
    ];
  },
  end: "data: [DONE]\n\n",
};

const GEMINI: ModelApi = {
  path: /:streamGenerateContent\?/,
  shellTool: ({ tools }) => {
    const declared = listOf(tools).flatMap((tool) => listOf(tool.functionDeclarations));
    return shellToolOf(declared.map(({ name }) => name));
  },
  results: ({ contents }) => {
    return listOf(contents)
      .flatMap(({ parts }) => listOf(parts))
      .filter(({ functionResponse }) => functionResponse !== undefined)
      .map(({ functionResponse }) => JSON.stringify(functionResponse));
  },
  events: (shell) => {
    const part =
      shell === undefined
        ? { text: "Done." }
        : { functionCall: { name: shell.tool, args: argumentsOf(shell) } };
    const content = { role: "model", parts: [part] };
    return [
      {
        candidates: [{ content, finishReason: "STOP", index: 0 }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      },
    ];
  },
};

const API: readonly ModelApi[] = [ANTHROPIC_MESSAGES, OPENAI_RESPONSES, CHAT_COMPLETIONS, GEMINI];

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.map((item) => Object(item) as Json) : [];
}

/** Text, or the blocks of one. */
function contentOf({ content, output }: Json): string {
  const value = content ?? output;
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

async function readJson(request: IncomingMessage): Promise<Json | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += (chunk as Buffer).length;
    if (length > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk as Buffer);
  }
  try {
    return Object(JSON.parse(Buffer.concat(chunks).toString())) as Json;
  } catch {
    return undefined;
  }
}
