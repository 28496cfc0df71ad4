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

test("[ours.mcp.config] every error in the settings of OAuth is reported, with its place", () => {
  const url = "https://x.example.com/mcp";
  const faults = faultsOf({
    listen: {
      oauth: {
        issuer: "http://login.example.com",
        scopes: ["two words"],
        user_claim: 'a"b',
        extra: 1,
      },
    },
    servers: {
      a: { command: "a", oauth: {} },
      b: { url, headers: { Authorization: "Bearer secret" }, oauth: { grant: "password" } },
      c: { url, oauth: { client_id: "c", client_metadata_url: "https://x.example.com/c.json" } },
      d: { url, oauth: { grant: "client_credentials", client_secret_env: "D" } },
    },
  });
  assert.deepEqual(faults, [
    "servers.a.oauth needs a url.",
    "servers.b.oauth.grant must be authorization_code or client_credentials.",
    "servers.b.oauth and the header authorization exclude each other.",
    "servers.c.oauth.issuer is required with client_id: the client belongs to one issuer.",
    "servers.c.oauth.client_metadata_url and client_id exclude each other.",
    "servers.d.oauth.client_id is required with a client secret.",
    "servers.d.oauth.grant needs client_id and a client secret for client_credentials.",
    "listen.oauth.resource is required.",
    "listen.oauth.issuer must be an https URL without query; http is allowed for localhost only.",
    'listen.oauth.scopes must contain scopes without spaces, " and \\.',
    'listen.oauth.user_claim must be the name of a claim without spaces, " and \\.',
    "listen.oauth.extra is not a known field.",
  ]);
});
