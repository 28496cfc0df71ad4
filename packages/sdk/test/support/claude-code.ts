/**
 * Runs Claude Code through the Claude Agent SDK, with a loopback server as its model: the model
 * proposes the given calls in its first turn, and ends when it received results.
 */

import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { type Options, query, type SDKResultMessage } from "@anthropic-ai/claude-agent-sdk";
import { temporaryFolder } from "@countersign/testing/child";

type Owner = Parameters<typeof temporaryFolder>[0];

export interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

export interface Agent {
  /** Working directory of Claude Code. */
  readonly folder: string;
  /** Runs one query. @throws any error of the query */
  run(options: Options, prompt?: string): Promise<SDKResultMessage | undefined>;
  /** The results in the last request that the model received, by call id. */
  results(): Readonly<Record<string, string>>;
}

export interface AgentOptions {
  readonly program: string;
  readonly calls: readonly ModelCall[];
  /** The calls of a subagent, which the model recognizes by this text in its prompt. */
  readonly subagent?: { readonly prompt: string; readonly calls: readonly ModelCall[] };
  /** False: the model rejects streamed requests, and Claude Code repeats them without streaming. */
  readonly isStreamed?: boolean;
  /** Settings of the project, as a hostile checkout could contain them. */
  readonly projectSettings?: object;
}

type Json = Readonly<Record<string, unknown>>;

export async function startAgent(t: Owner, options: AgentOptions): Promise<Agent> {
  const model = await startModel(t, options);
  const [folder, home] = [temporaryFolder(t), temporaryFolder(t)];
  if (options.projectSettings !== undefined) {
    mkdirSync(join(folder, ".claude"));
    const settings = JSON.stringify(options.projectSettings);
    writeFileSync(join(folder, ".claude/settings.json"), settings);
  }
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    CLAUDE_CONFIG_DIR: home,
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: "none",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
    // The model refuses all connections of a proxy.
    HTTP_PROXY: model.url,
    HTTPS_PROXY: model.url,
    NO_PROXY: "127.0.0.1",
  };
  const base = { cwd: folder, env, permissionMode: "default" } as const;
  return {
    folder,
    results: model.results,
    async run(more, prompt = "Do it.") {
      const all = { ...base, pathToClaudeCodeExecutable: options.program, ...more };
      let result: SDKResultMessage | undefined;
      for await (const message of query({ prompt, options: all })) {
        if (message.type === "result") result ??= message;
      }
      return result;
    },
  };
}

async function startModel(t: Owner, { calls, subagent, isStreamed = true }: AgentOptions) {
  let results: Record<string, string> = {};
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (!/^\/v1\/messages(\?|$)/.test(request.url ?? "")) {
      response.writeHead(404).end();
      return;
    }
    const text = Buffer.concat(chunks).toString();
    const { messages, tools, stream } = JSON.parse(text) as Json;
    const isSubagent = subagent !== undefined && text.includes(subagent.prompt);
    const found = resultsIn(messages);
    if (!isSubagent) results = { ...results, ...found };
    const hasTools = listOf(tools).length > 0;
    const isFirst = hasTools && Object.keys(found).length === 0;
    const proposed = isSubagent ? subagent.calls : calls;
    if (stream !== true) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(wholeTurn(isFirst ? proposed : [])));
      return;
    }
    if (!isStreamed) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of turn(isFirst ? proposed : [])) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = Object(server.address()) as { readonly port: number };
  return { url: `http://127.0.0.1:${port}`, results: () => results };
}

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.map((item) => Object(item) as Json) : [];
}

function resultsIn(messages: unknown): Record<string, string> {
  const blocks = listOf(messages).flatMap(({ content }) => listOf(content));
  const results = blocks.filter(({ type }) => type === "tool_result");
  return Object.fromEntries(results.map(({ tool_use_id: id, content }) => [id, textOf(content)]));
}

/** Text, or the blocks of one. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map(({ text }) => text)
    .join("");
}

const USAGE = { input_tokens: 1, output_tokens: 1 };

const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "scripted",
  usage: USAGE,
  stop_sequence: null,
};

/** One turn of the Anthropic Messages API without streaming. */
function wholeTurn(calls: readonly ModelCall[]): Json {
  const content = calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input }));
  if (content.length > 0) return { ...MESSAGE, content, stop_reason: "tool_use" };
  return { ...MESSAGE, content: [{ type: "text", text: "Done." }], stop_reason: "end_turn" };
}

/** The events of one turn of the Anthropic Messages API. */
function turn(calls: readonly ModelCall[]): Json[] {
  const open = { ...MESSAGE, content: [], stop_reason: null };
  const blocks = calls.map(({ id, name, input }) => ({
    block: { type: "tool_use", id, name, input: {} },
    delta: { type: "input_json_delta", partial_json: JSON.stringify(input) },
  }));
  const closing = {
    block: { type: "text", text: "" },
    delta: { type: "text_delta", text: "Done." },
  };
  const reason = calls.length > 0 ? "tool_use" : "end_turn";
  return [
    { type: "message_start", message: open },
    ...(blocks.length > 0 ? blocks : [closing]).flatMap(({ block, delta }, index) => [
      { type: "content_block_start", index, content_block: block },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: USAGE },
    { type: "message_stop" },
  ];
}
