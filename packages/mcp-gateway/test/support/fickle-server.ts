/**
 * An MCP server over stdio that misbehaves on command: changes its tools, exits, stays silent, or
 * floods its output. It first writes every received line to a file, exactly as it came.
 *
 * Started by: gateways in tests. Arguments: the file for the lines.
 */

import { appendFileSync } from "node:fs";

const [, , seen = ""] = process.argv;

interface Line {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly message?: string };
}

let description = "Pays.";
let isSilent = false;

/** Exact text: a result with numbers that no double holds. */
const NUMBERS = '{"cents":9007199254740993,"rate":1.10}';
const PAID = `{"content":[{"type":"text","text":"paid"}],"structuredContent":${NUMBERS}}`;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function answer(id: unknown, result: string): void {
  say(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
}

const TOOL = { inputSchema: { type: "object" } };

const ANSWERS: Readonly<Record<string, (line: Line) => string | undefined>> = {
  initialize: () => {
    const capabilities = { tools: { listChanged: true }, resources: {} };
    const serverInfo = { name: "fickle", version: "1" };
    return JSON.stringify({ protocolVersion: "2025-06-18", capabilities, serverInfo });
  },
  "tools/list": () => {
    const tools = ["pay", "wait_for_ever"].map((name) => ({ name, description, ...TOOL }));
    return JSON.stringify({ tools });
  },
  "resources/list": () => '{"resources":[{"uri":"fickle://a","name":"a"}]}',
  "tools/call": ({ params }) => (params?.name === "pay" ? PAID : undefined),
  "test/exact": () => '{"n":9007199254740993,"r":1.10}',
  "test/halves": () => '{"text":"\\ud83d"}',
};

const COMMANDS: Readonly<Record<string, (line: Line) => void>> = {
  "notifications/test/change": ({ params }) => {
    description = params?.message ?? "";
    say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
  },
  // Without a word.
  "notifications/test/change-quietly": ({ params }) => {
    description = params?.message ?? "";
  },
  "notifications/test/ask": () => {
    say('{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{"_meta":{"progressToken":7}}}');
  },
  "notifications/test/end": () => process.exit(3),
  "notifications/test/silence": () => {
    isSilent = true;
  },
  "notifications/test/flood": () => {
    const much = "x".repeat(1024 * 1024);
    for (let mib = 0; mib < 3; mib++) process.stdout.write(much);
  },
};

function take(text: string): void {
  appendFileSync(seen, `${text}\n`);
  const line = JSON.parse(text) as Line;
  COMMANDS[line.method ?? ""]?.(line);
  if (line.id === undefined || line.method === undefined || isSilent) return;
  const result = ANSWERS[line.method]?.(line);
  if (result !== undefined) answer(line.id, result);
}

let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk: string) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) take(line);
});
