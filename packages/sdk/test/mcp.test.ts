// Process: own
/**
 * The adapter for MCP servers, in front of the client and the server of version 1 of the MCP SDK.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { gateServer } from "@countersign/sdk/mcp";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { frameworkRules } from "./support/framework-rules.ts";
import { approvalsOf, sharedScene } from "./support/framework-scene.ts";
import { framework, version } from "./support/frameworks/mcp.ts";
import { INFO, mcpRules } from "./support/mcp-rules.ts";

frameworkRules(framework);
mcpRules(version);

test("[ours.sdk.frameworks.ungateable] mcp: a selected tool of tasks is rejected, also under a new name", async () => {
  const server = new McpServer(INFO);
  gateServer(server, { approvals: approvalsOf(await sharedScene()), except: ["report"] });
  const register = (name: string) => {
    const neverRuns = () => assert.fail("it ran");
    const handler = { createTask: neverRuns, getTask: neverRuns, getTaskResult: neverRuns };
    return server.experimental.tasks.registerToolTask(name, { inputSchema: {} }, handler);
  };
  const refusal = { code: "invalid_option", message: /^Cannot gate tool pay: .* tasks/ };
  assert.throws(() => register("pay"), refusal);
  assert.throws(() => register("report").update({ name: "pay" }), refusal);
});

test("[ours.sdk.frameworks.selection] mcp: a tool of tasks does not run while `only` names an unknown tool", async () => {
  const server = new McpServer(INFO);
  gateServer(server, { approvals: approvalsOf(await sharedScene()), only: ["pya"] });
  const neverRuns = () => assert.fail("it ran");
  const handler = { createTask: neverRuns, getTask: neverRuns, getTaskResult: neverRuns };
  const { tasks } = server.experimental;
  const tool = tasks.registerToolTask("pay", { inputSchema: {} }, handler);
  const { createTask } = tool.handler as { createTask(...args: unknown[]): unknown };
  assert.throws(() => createTask({}, {}), /only or except names unknown tools: "pya"/);
});

test("[ours.sdk.frameworks.selection] mcp: an ungated tool of tasks can be an instance of a class", async () => {
  class Report {
    readonly #name = "report";
    createTask = () => this.#name;
    getTask() {
      return `task of ${this.#name}`;
    }
    getTaskResult() {
      return `result of ${this.#name}`;
    }
  }
  const server = new McpServer(INFO);
  gateServer(server, { approvals: approvalsOf(await sharedScene()), except: ["report"] });
  const { tasks } = server.experimental;
  const tool = tasks.registerToolTask("report", { inputSchema: {} }, new Report() as never);
  const handler = tool.handler as object as Report;
  assert.equal(handler.createTask(), "report");
  assert.equal(handler.getTask(), "task of report");
  assert.equal(handler.getTaskResult(), "result of report");
});
