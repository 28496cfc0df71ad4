/**
 * A real provider, the gateway in another process, and a real MCP client in front of it: the setup
 * of most tests of the gateway.
 */

import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentScene } from "@countersign/testing/agent-scene";
import { type Child, type Owner, temporaryFolder } from "@countersign/testing/child";
import { type Invocation, ownEnvironment, spawnProgram } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult, ClientCapabilities } from "@modelcontextprotocol/sdk/types.js";

export const BIN = join(import.meta.dirname, "../../bin/countersign-mcp-gateway.js");

/** Starts the command without waiting for its end. */
export function spawnGateway(
  owner: Owner,
  args: readonly string[],
  invocation?: Invocation,
): Child {
  return spawnProgram(owner, BIN, args, invocation);
}

export const EVERYTHING = {
  command: process.execPath,
  args: [entryOf("@modelcontextprotocol/server-everything")],
};

export function filesServer(folder: string) {
  const entry = entryOf("@modelcontextprotocol/server-filesystem");
  return { command: process.execPath, args: [entry, folder] };
}

function entryOf(name: string): string {
  const manifest = new URL(import.meta.resolve(`${name}/package.json`));
  return new URL("dist/index.js", manifest).pathname;
}

/** A fickle server, and the lines that reached it. */
export class Fickle {
  readonly config: { readonly command: string; readonly args: readonly string[] };
  readonly #seen: string;

  constructor(folder: string, name = "fickle") {
    this.#seen = join(folder, `${name}.lines`);
    const script = join(import.meta.dirname, "fickle-server.ts");
    this.config = { command: process.execPath, args: [script, this.#seen] };
  }

  lines(): string[] {
    if (!existsSync(this.#seen)) return [];
    return readFileSync(this.#seen, "utf8").split("\n").slice(0, -1);
  }

  calls(): string[] {
    return this.lines().filter((line) => line.includes('"method":"tools/call"'));
  }
}

export interface GatewayOptions {
  /** The program of the gateway; by default that of the repository. */
  readonly bin?: string;
  /** Members of the config file besides provider, state and servers. */
  readonly config?: object;
  readonly capabilities?: ClientCapabilities;
  /** Before the session is opened. */
  readonly prepare?: (client: Client) => void;
}

export interface ConnectedGateway {
  readonly client: Client;
  readonly pid: number;
  /** Lines that the gateway has reported, whole ones. */
  reports(event: string): readonly Record<string, unknown>[];
  /** Waits for the first report of an event. */
  reported(event: string): Promise<Record<string, unknown>>;
  notify(method: string, params?: Record<string, unknown>): Promise<void>;
}

/** @returns the path of a config file, closed to others */
export function writeConfig(
  folder: string,
  { url }: { readonly url: string },
  servers: object,
  config: object = {},
): string {
  const path = join(folder, `gateway-${++configs}.json`);
  const state = join(folder, "state");
  const text = JSON.stringify({ provider: { url }, state, progress: "1s", servers, ...config });
  writeFileSync(path, text);
  chmodSync(path, 0o600);
  return path;
}

let configs = 0;

/** Starts a gateway as an MCP client does, and opens a session. */
export async function connectGateway(
  owner: Owner,
  scene: AgentScene,
  servers: object,
  options: GatewayOptions = {},
): Promise<ConnectedGateway> {
  const folder = temporaryFolder(owner);
  const path = writeConfig(folder, scene, servers, options.config);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [options.bin ?? BIN, "--config", path],
    env: { ...ownEnvironment(), COUNTERSIGN_API_KEY: scene.token } as Record<string, string>,
    stderr: "pipe",
  });
  let printed = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const reports = (event: string) => {
    const lines = printed.split("\n").slice(0, -1);
    const ours = lines.filter((line) => line.includes(`"event":"mcp_gateway.${event}"`));
    return ours.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const client = await openSession(owner, transport, options);
  return {
    client,
    pid: transport.pid ?? 0,
    reports,
    reported: (event) => eventually(`a report of ${event}`, () => reports(event)[0]),
    notify: async (method, params) => {
      const message = { jsonrpc: "2.0", method, ...(params && { params }) } as const;
      await transport.send(message);
    },
  };
}

export async function openSession(
  owner: Owner,
  transport: Transport,
  { capabilities = {}, prepare }: GatewayOptions = {},
): Promise<Client> {
  const client = new Client({ name: "test-client", version: "1" }, { capabilities });
  prepare?.(client);
  owner.after(() => client.close());
  await client.connect(transport);
  return client;
}

/** Far above what anything takes: a call waits as long as its test. */
export const PATIENT = { timeout: 60_000, resetTimeoutOnProgress: true };

export function call(client: Client, name: string, args: object = {}): Promise<CallToolResult> {
  const params = { name, arguments: args as Record<string, unknown> };
  return client.callTool(params, undefined, PATIENT) as Promise<CallToolResult>;
}

export function textOf({ content }: CallToolResult): string {
  return content.map((item) => (item.type === "text" ? item.text : `(${item.type})`)).join("\n");
}

/** A request as it was submitted, with the exact text of everything. */
export async function shownRequest(scene: AgentScene, id: string): Promise<string> {
  const { server, reviewer } = scene;
  return (await server.call("GET", `/review/v1/requests/${id}`, { token: reviewer })).text;
}

export function statusIs(scene: AgentScene, id: string, status: string): Promise<true> {
  return eventually(`${id} is ${status}`, async () => {
    return (await shownRequest(scene, id)).includes(`"status":"${status}"`) || undefined;
  });
}

/** A number that is sent as it is spelled here. */
export function number(source: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(source);
}
