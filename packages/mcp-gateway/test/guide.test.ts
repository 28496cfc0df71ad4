/**
 * The snippets of the gateway's documents: what they say is what the program takes.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseJson } from "@countersign/protocol";
import { fileOwner } from "@countersign/testing/child";
import { countersign } from "@countersign/testing/countersign";
import { readConfig } from "../src/config.ts";

const owner = fileOwner();
const docs = new URL("../../../docs/", import.meta.url);
const guide = readFileSync(new URL("guides/connect-any-mcp-client.md", docs), "utf8");

function snippets(kind: string): string[] {
  const blocks = guide.matchAll(/^```json (\w+)\n([\s\S]*?)^```$/gm);
  return [...blocks].filter(([, name]) => name === kind).map(([, , text = ""]) => text);
}

test("[ours.mcp.documented] the gateway accepts the guide's configs unchanged", () => {
  const configs = snippets("gateway");
  assert.equal(configs.length, 2);
  for (const text of configs) {
    const faults: string[] = [];
    readConfig(parseJson(text), faults);
    assert.deepEqual(faults, []);
  }
});

test("[ours.mcp.documented] the client settings of the guide start the gateway", async () => {
  const clients = [...snippets("mcpServers"), ...snippets("servers")];
  assert.equal(clients.length, 3);
  for (const text of clients) {
    const { mcpServers, servers } = JSON.parse(text);
    const [{ command, args }] = Object.values(mcpServers ?? servers) as [
      { command: string; args: string[] },
    ];
    assert.equal(command, "countersign");
    // It goes as far as the file that is not on this machine.
    const { code, stderr } = await countersign(owner, args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^countersign: \/path\/to\/.* cannot be read \(ENOENT\)\.$/m);
  }
});

test("[ours.mcp.documented] the reference has every option of the command", async () => {
  const reference = readFileSync(new URL("reference/mcp-gateway.md", docs), "utf8");
  const { stdout } = await countersign(owner, ["mcp-gateway", "--help"]);
  const options = stdout.match(/^ {2}--[a-z-]+/gm) ?? [];
  assert.ok(options.length >= 7);
  for (const option of options.filter((one) => one.trim() !== "--json")) {
    assert.ok(reference.includes(`\`${option.trim()}`), option);
  }
});
