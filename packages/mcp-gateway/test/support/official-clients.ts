/**
 * Official MCP clients in front of a gateway with the filesystem, memory and everything servers.
 * A client opens one session for each request.
 */

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentScene } from "@countersign/testing/agent-scene";
import { type Owner, temporaryFolder } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";
import type { CallToolResult, ListToolsResult } from "@modelcontextprotocol/sdk/types.js";
import { enforce, policyOf } from "../../../server/test/support/policies.ts";
import { BIN, EVERYTHING, filesServer, spawnGateway, writeConfig } from "./gateway-scene.ts";

const FRAMEWORKS = new URL("../../../../frameworks/node_modules/", import.meta.url).pathname;

export const INSPECTOR = join(
  FRAMEWORKS,
  "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
);

const MEMORY = join(FRAMEWORKS, "@modelcontextprotocol/server-memory/dist/index.js");

const TOKEN = "client-secret";

/** The settings of a server in the configuration of a client. */
export type ServerSettings =
  | {
      readonly type: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }
  | {
      readonly type: "streamable-http";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

export interface OfficialClient {
  listTools(server: ServerSettings): Promise<ListToolsResult>;
  callTool(server: ServerSettings, tool: string, args: object): Promise<CallToolResult>;
}

export interface GatewayPlace {
  readonly folder: string;
  readonly memory: string;
  readonly server: ServerSettings;
}

/** The policy approves reading files. All other calls need a reviewer. */
export async function approveReads(scene: AgentScene): Promise<void> {
  const rule = "{ id: reads, match: { tool: mcp__files__read_text_file }, then: approve }";
  await enforce(scene.server, policyOf(rule));
}

export async function prepareGateway(
  owner: Owner,
  scene: AgentScene,
  transport: ServerSettings["type"],
): Promise<GatewayPlace> {
  const folder = temporaryFolder(owner);
  const memory = join(folder, "memory.jsonl");
  writeFileSync(join(folder, "note.txt"), "written before");
  const servers = {
    files: filesServer(folder),
    memory: { command: process.execPath, args: [MEMORY], env: { MEMORY_FILE_PATH: memory } },
    every: EVERYTHING,
  };
  const env = { COUNTERSIGN_API_KEY: scene.token };
  const own = temporaryFolder(owner);
  if (transport === "stdio") {
    const config = writeConfig(own, scene, servers);
    const command = process.execPath;
    const args = [BIN, "--config", config];
    const inherited = ownEnvironment() as Record<string, string>;
    return {
      folder,
      memory,
      server: { type: "stdio", command, args, env: { ...inherited, ...env } },
    };
  }
  const file = join(own, "client.token");
  writeFileSync(file, TOKEN, { mode: 0o600 });
  const config = writeConfig(own, scene, servers, { listen: { port: 0, token_file: file } });
  const child = spawnGateway(owner, ["--config", config], { env });
  const [, url = ""] = await child.prints("stdout", /"mcp_gateway.started","address":"([^"]+)"/);
  const headers = { Authorization: `Bearer ${TOKEN}` };
  return { folder, memory, server: { type: "streamable-http", url, headers } };
}

/** Lists the tools, and calls tools of each server with each kind of decision. */
export async function tryEveryDecision(
  scene: AgentScene,
  { folder, memory, server }: GatewayPlace,
  client: OfficialClient,
): Promise<void> {
  const names = (await client.listTools(server)).tools.map(({ name }) => name);
  for (const name of ["files__read_text_file", "memory__create_entities", "every__echo"]) {
    assert.ok(names.includes(name), names.join());
  }

  const path = join(folder, "note.txt");
  const read = await client.callTool(server, "files__read_text_file", { path });
  assert.match(JSON.stringify(read.content), /written before/);

  const entities = [{ name: "Ana", entityType: "person", observations: ["approves calls"] }];
  const creating = client.callTool(server, "memory__create_entities", { entities });
  await scene.nextPending();
  assert.ok(!existsSync(memory));
  await scene.decideNext("approve");
  const created = await creating;
  assert.notEqual(created.isError, true);
  assert.deepEqual(created.structuredContent, { entities });
  assert.match(readFileSync(memory, "utf8"), /approves calls/);

  const message = "approved by a reviewer";
  const echoing = client.callTool(server, "every__echo", { message });
  await scene.decideNext("approve");
  assert.match(JSON.stringify((await echoing).content), /Echo: approved by a reviewer/);

  const content = "written after";
  const writing = client.callTool(server, "files__write_file", { path, content });
  await scene.decideNext("deny", { note: "Ask Ana first." });
  const refused = await writing;
  assert.equal(refused.isError, true);
  assert.match(JSON.stringify(refused.content), /This call was denied: Ask Ana first\./);
  assert.equal(readFileSync(path, "utf8"), "written before");
}
