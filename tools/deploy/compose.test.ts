// Tier: slow
// Needs: go-tools
/**
 * The library of `docker compose config` loads the file of deploy/compose.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { parse } from "yaml";
import { goTools } from "../go-tools/tools.ts";

const FOLDER = resolve(import.meta.dirname, "../../deploy/compose");

type Variables = Readonly<Record<string, string>>;

function config(file: string, variables: Variables = {}) {
  const env = { PATH: process.env.PATH ?? "", HOME: FOLDER, ...variables };
  return spawnSync(goTools().program("compose"), [file], {
    cwd: FOLDER,
    env,
    encoding: "utf8",
  });
}

/** Variables of .env.example. */
function exampleVariables(): Variables {
  const lines = readFileSync(join(FOLDER, ".env.example"), "utf8").matchAll(/^(\w+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, name = "", value = ""]) => [name, value]));
}

test("[ours.deploy.compose] compose accepts the file with the variables of .env.example", () => {
  const variables = { ...exampleVariables(), SITE: "a.example.com" };
  const { status, stdout, stderr } = config("compose.yaml", variables);
  assert.equal(status, 0, stderr);
  const { services } = parse(stdout);
  assert.deepEqual(Object.keys(services).sort(), [
    "caddy",
    "countersign-1",
    "countersign-2",
    "postgres",
  ]);
  const { environment } = services["countersign-2"];
  assert.equal(environment.COUNTERSIGN_PUBLIC_URL, "https://a.example.com");
});

test("[ours.deploy.compose] without .env, the file has the values of .env.example", () => {
  const { status, stdout, stderr } = config("compose.yaml");
  assert.equal(status, 0, stderr);
  assert.doesNotMatch(stderr, /variable is not set/i);
  assert.equal(stdout, config("compose.yaml", exampleVariables()).stdout);
});

test("[ours.deploy.compose] compose rejects an unknown key, a wrong type and an unknown network", (t) => {
  const text = readFileSync(join(FOLDER, "compose.yaml"), "utf8");
  const file = join(temporaryFolder(t), "compose.yaml");
  for (const [from, to] of [
    ["stop_grace_period:", "stop_grace_periods:"],
    ["read_only: true", "read_only: [no]"],
    ["      - back\n", "      - bakc\n"],
  ] as const) {
    assert.ok(text.includes(from));
    writeFileSync(file, text.replace(from, to));
    assert.notEqual(config(file).status, 0, to);
  }
});
