/**
 * The quickstarts and the guide for Python agents: what each page takes as given, and which of its
 * commands a test cannot run unchanged.
 */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { makeToken, newAgent } from "@countersign/testing/agents";
import { ownEnvironment } from "@countersign/testing/countersign";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { type Change, decide, type GuideOptions, type Place } from "./play-guide.ts";

interface Page {
  /** The page installs packages from a registry. */
  readonly needsNetwork?: true;
  readonly options: (t: TestContext) => GuideOptions;
}

const INSTALLED: Change = {
  text: "npm ci",
  by: "true",
  reason: "It installs 641 MB. The folder of the test has the packages of this checkout.",
};

function withoutAgent(agent: string): Change {
  return {
    text: `countersign doctor ${agent}`,
    by: `countersign doctor ${agent} --no-agent`,
    reason: "doctor starts the agent if this machine has it. doctor-agents.test.ts tests that.",
  };
}

/** By the file in docs. */
export const PAGES: Readonly<Record<string, Page>> = {
  "quickstart/http-client.md": { options: () => ({ changes: [INSTALLED] }) },
  "quickstart/typescript-agent.md": {
    options: () => ({ changes: [INSTALLED], verdicts: ["approve"] }),
  },
  "quickstart/claude-code.md": {
    options: () => ({ changes: [INSTALLED, withoutAgent("claude-code")] }),
  },
  "quickstart/codex.md": {
    options: () => ({ changes: [INSTALLED, withoutAgent("codex")] }),
  },
  "quickstart/mcp-client.md": {
    options: (t) => ({ changes: [INSTALLED], finish: (place) => useMcpServer(t, place) }),
  },
  "quickstart/operator.md": {
    options: () => ({
      changes: [
        INSTALLED,
        {
          text: "countersign init",
          by: "countersign init --yes",
          reason: "The questions need a terminal and a browser. init.test.ts answers them.",
        },
      ],
    }),
  },
  "quickstart/reviewer.md": {
    options: () => ({
      prepare: submitTwo,
      changes: [
        {
          text: "https://approvals.example.com",
          by: "http://localhost:8787",
          reason: "The page uses the server of an operator.",
        },
        { text: "cs_rev_...", by: "$TOKEN", reason: "The operator gives the token to the user." },
        {
          text: "requests watch",
          by: "requests watch & WATCH=$!; trap 'kill $WATCH' EXIT",
          reason: "The user stops the command with Ctrl-C.",
        },
        {
          text: "approve ID",
          by: 'approve "$FIRST" --yes',
          reason: "The id is an example, and the question needs a terminal.",
        },
        { text: "deny ID", by: 'deny "$SECOND"', reason: "The id is an example." },
      ],
    }),
  },
  "quickstart/python-agent.md": {
    needsNetwork: true,
    options: () => ({ prepare: withPip, changes: [INSTALLED], verdicts: ["approve"] }),
  },
  "guides/connect-a-python-agent.md": {
    needsNetwork: true,
    options: () => ({ prepare: withPip, verdicts: ["approve"] }),
  },
};

/** Starts the MCP server as a client with the settings of the page, and reads a file with it. */
async function useMcpServer(t: TestContext, { server, folder }: Place): Promise<void> {
  const work = join(folder, "work");
  mkdirSync(work);
  writeFileSync(join(work, "note.txt"), "the content");
  const settings = readFileSync(join(folder, "mcp.json"), "utf8")
    .replaceAll("/path/to/checkout", folder)
    .replaceAll("/path/to/work", work)
    .replaceAll("http://localhost:8787", server.url);
  const { command, args } = JSON.parse(settings).mcpServers.files;
  const env = { ...ownEnvironment(), HOME: folder } as Record<string, string>;
  const client = new Client({ name: "test-client", version: "1" });
  t.after(() => client.close());
  const options = { command, args, env, cwd: folder, stderr: "ignore" as const };
  await client.connect(new StdioClientTransport(options));
  const call = { name: "read_text_file", arguments: { path: join(work, "note.txt") } };
  const ended = new AbortController();
  const [result] = await Promise.all([
    client.callTool(call).finally(() => ended.abort()),
    decide(server, ["approve"], ended.signal),
  ]);
  assert.match(JSON.stringify(result.content), /the content/);
}

/** Submits two calls for the reviewer of the page. */
async function submitTwo({ server }: Place): Promise<NodeJS.ProcessEnv> {
  const agent = await newAgent(server);
  const [first, second] = [await agent.submit(), await agent.submit()];
  const token = await makeToken(server.data, { kind: "reviewer", name: "mo" });
  return { TOKEN: token, FIRST: first.id, SECOND: second.id };
}

/** pip reads its settings, such as those of a proxy, from the environment and the home folder. */
async function withPip(): Promise<NodeJS.ProcessEnv> {
  const { HOME, PATH: _, ...others } = ownEnvironment();
  return { ...others, HOME };
}
