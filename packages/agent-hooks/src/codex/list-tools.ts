/**
 * Lists the tools of Codex's MCP servers with Codex itself: `codex app-server` reads the
 * configuration, starts the servers and answers with the names that they use. So no server starts
 * in another way than Codex starts it.
 */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { type ListedWith, readConfig, serverSettings, type ToolList } from "./tool-list.ts";

/** Above the time that Codex waits for a server. */
const LIST_MS_MAX = 45_000;

/** Of one answer. It contains the schemas of all tools. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** The longest name that can be submitted. */
const NAME_LENGTH_MAX = 512;

export interface ListOrder {
  /** The executable of Codex. */
  readonly program: string;
  /** Path of the user-level `config.toml`. */
  readonly config: string;
  /** A folder that is not a project: a project can configure other servers. */
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
}

export interface ListResult {
  readonly list: ToolList;
  /** The servers that Codex could not list, with its reasons. */
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
}

type Json = Readonly<Record<string, unknown>>;

/** @throws Error: Codex did not answer */
export async function listTools(order: ListOrder): Promise<ListResult> {
  const { config } = order;
  // Read before the servers start. A later change makes the list of a server invalid.
  const settings = serverSettings(readConfig(config));
  const found = await askCodex(order);
  const servers: ListedWith[] = [];
  const failed: { name: string; reason: string }[] = [];
  for (const [name, digest] of settings) {
    const server = found.find((each) => each.name === name);
    const reason = failureOf(server);
    if (server === undefined || reason !== undefined) {
      failed.push({ name, reason: reason ?? "" });
      continue;
    }
    const tools = Object.values(Object(server.tools) as Record<string, unknown>)
      .map((tool) => Object(tool).name as unknown)
      .filter(isUsableName);
    servers.push({ name, tools, settings: digest });
  }
  return { list: { config, servers }, failed };
}

function failureOf(server: Json | undefined): string | undefined {
  if (server === undefined) return "Codex does not list it";
  if (typeof server.toolsError === "string") return server.toolsError;
  return server.serverInfo === null ? "it did not start" : undefined;
}

/** True for a name that a request can have. */
function isUsableName(name: unknown): name is string {
  if (typeof name !== "string" || name === "" || name.length > NAME_LENGTH_MAX) return false;
  return name.isWellFormed() && !/\p{Cc}/u.test(name);
}

/** The servers as Codex describes them. */
async function askCodex({ program, folder, environment }: ListOrder): Promise<readonly Json[]> {
  // In a process group of its own, so that the servers are stopped with it.
  const child = spawn(program, ["app-server"], {
    cwd: folder,
    env: environment,
    detached: true,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const started = new Promise<never>((_, reject) => child.once("error", reject));
  // A process that has ended is reported by the missing answer.
  child.stdin.on("error", () => {});
  const stop = () => {
    if (child.pid === undefined || child.exitCode !== null) return;
    process.kill(-child.pid, "SIGKILL");
  };
  const timer = setTimeout(stop, LIST_MS_MAX);
  try {
    return await Promise.race([started, converse(child)]);
  } finally {
    clearTimeout(timer);
    stop();
  }
}

async function converse({
  stdin,
  stdout,
}: {
  readonly stdin: NodeJS.WritableStream;
  readonly stdout: NodeJS.ReadableStream;
}): Promise<readonly Json[]> {
  const send = (message: object) => stdin.write(`${JSON.stringify(message)}\n`);
  const servers: Json[] = [];
  let id = 1;
  let length = 0;
  const clientInfo = { name: "countersign", title: "Countersign", version: "0" };
  send({ id, method: "initialize", params: { clientInfo } });
  for await (const line of createInterface({ input: stdout })) {
    length += line.length;
    if (length > ANSWER_BYTES_MAX) throw new Error("its answer is larger than 64 MiB");
    const message = readMessage(line);
    if (message.id !== id || "method" in message) continue;
    if (message.error !== undefined) throw new Error(String(Object(message.error).message));
    const result = Object(message.result) as Json;
    if (id === 1) send({ method: "initialized" });
    else servers.push(...(Array.isArray(result.data) ? result.data.map(Object) : []));
    const { nextCursor: cursor } = result;
    if (id > 1 && typeof cursor !== "string") return servers;
    id += 1;
    send({ id, method: "mcpServerStatus/list", params: { cursor, detail: "toolsAndAuthOnly" } });
  }
  throw new Error("it ended without an answer");
}

function readMessage(line: string): Json {
  try {
    return Object(JSON.parse(line)) as Json;
  } catch {
    return {};
  }
}
