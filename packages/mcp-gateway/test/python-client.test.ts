// Tier: slow
// Needs: frameworks, python3
// Process: own
/**
 * The official Python client in front of the gateway. Over stdio it speaks MCP 2026-07-28, and the
 * official servers speak an earlier version.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { Child, fileOwner, temporaryFolder } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";
import { obtainFrameworks, obtainPython } from "../../../tools/interop/obtain.ts";
import {
  approveReads,
  type OfficialClient,
  prepareGateway,
  type ServerSettings,
  tryEveryDecision,
} from "./support/official-clients.ts";

const SUPPORT = join(import.meta.dirname, "support");
const INSTALL_MS_MAX = 240_000;

const owner = fileOwner();
let scene: AgentScene;
let python: string;
let versions: Set<string>;

before(async () => {
  const installing = AbortSignal.timeout(INSTALL_MS_MAX);
  const obtained = await obtainPython(temporaryFolder(owner), installing);
  assert.ok(obtained.kind === "had", "reason" in obtained ? obtained.reason : "");
  python = obtained.program;
  const requirements = join(SUPPORT, "requirements.txt");
  const installed = await obtainFrameworks(python, installing, requirements);
  assert.ok(installed.kind === "had", "reason" in installed ? installed.reason : "");
  scene = await startAgentScene(owner);
  await approveReads(scene);
});

async function send<T>(server: ServerSettings, request: object): Promise<T> {
  const order = JSON.stringify({ server, ...request });
  const command = [python, join(SUPPORT, "python-client.py"), order];
  const outcome = await new Child(owner, command, { env: ownEnvironment() }).ends();
  assert.equal(outcome.code, 0, outcome.stderr);
  const { version, result } = JSON.parse(outcome.stdout) as { version: string; result: T };
  versions.add(version);
  return result;
}

const client: OfficialClient = {
  listTools: (server) => send(server, { method: "tools/list" }),
  callTool: (server, tool, args) => send(server, { method: "tools/call", tool, arguments: args }),
};

for (const transport of ["stdio", "streamable-http"] as const) {
  test(`[ours.mcp.clients] the Python SDK lists and calls tools of three servers over ${transport}`, async (t) => {
    versions = new Set();
    const place = await prepareGateway(t, scene, transport);
    await tryEveryDecision(scene, place, client);
    if (transport === "stdio") assert.deepEqual([...versions], ["2026-07-28"]);
    assert.equal(versions.size, 1);
  });
}
