import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseJson } from "@countersign/protocol";
import { temporaryFolder } from "@countersign/testing/child";
import { readConfig } from "./config.ts";
import { GatewayConfigError, loadConfig } from "./config-file.ts";

function faultsOf(config: object): string[] {
  const faults: string[] = [];
  readConfig(parseJson(JSON.stringify(config)), faults);
  return faults;
}

const A = { command: "a" };

test("[ours.mcp.config] every error is reported, with its place", () => {
  const faults = faultsOf({
    timeout: "soon",
    extra: 1,
    listen: { host: "0.0.0.0", port: 99_999 },
    servers: {
      Bad_Name: { command: "a", url: "https://x.example.com" },
      b: { url: "http://x.example.com", headers: { "a b": "secret" } },
      c: { command: "c", args: "no list", ask_as: "{tool}s" },
    },
  });
  assert.deepEqual(faults, [
    "servers.Bad_Name must be 1 to 32 of a-z, 0-9 and -.",
    "servers.Bad_Name needs either a command or a url.",
    "servers.b.headers contains an invalid header name or value (a b).",
    "servers.b.url must be https; http is allowed for localhost only.",
    "servers.c.ask_as must be printable ASCII without spaces that ends with {tool}.",
    "servers.c.args must be a list of strings.",
    "timeout must be a duration up to 168h, such as 30s.",
    "listen.port must be a whole number from 0 to 65535.",
    "listen needs token_file or oauth: HTTP clients must authenticate.",
    "listen.hosts is required when other machines can connect.",
    "extra is not a known field.",
  ]);
  assert.doesNotMatch(faults.join(), /secret/);
});

test("[ours.mcp.config] ambiguous names of servers are rejected", () => {
  assert.deepEqual(faultsOf({ servers: { a: A, b: A } }), []);
  assert.match(faultsOf({ servers: { a: A, b: { ...A, prefix: "" } } }).join(), /a\.prefix begins/);
  const nested = { a: { ...A, prefix: "x" }, b: { ...A, prefix: "xy" } };
  assert.match(faultsOf({ servers: nested }).join(), /b\.prefix begins with that of a/);
  const asked = { a: { ...A, ask_as: "same/{tool}" }, b: { ...A, ask_as: "same/{tool}" } };
  assert.match(faultsOf({ servers: asked }).join(), /ask_as begins/);
  assert.deepEqual(faultsOf({ servers: {} }), ["servers must name at least one server."]);
});

test("[ours.mcp.config] a config file is closed to others, and strict JSON", async (t) => {
  const path = join(temporaryFolder(t), "gateway.json");
  const refused = (rule: RegExp) => {
    return assert.rejects(loadConfig(path), (error) => {
      assert.ok(error instanceof GatewayConfigError);
      assert.match(error.message, rule);
      return true;
    });
  };
  await refused(/cannot be read \(ENOENT\)/);
  writeFileSync(path, '{"servers":{"a":{"command":"a"}}}');
  chmodSync(path, 0o640);
  await refused(/Run: chmod 600/);
  chmodSync(path, 0o600);
  assert.equal((await loadConfig(path)).servers[0]?.askPrefix, undefined);
  writeFileSync(path, '{"servers":{"a":{"command":"a"}},"servers":{}}');
  await refused(/same key twice/);
});
