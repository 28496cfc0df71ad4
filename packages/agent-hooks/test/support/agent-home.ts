/**
 * A provider, and home folders in which install, uninstall, status and doctor run.
 */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { makeToken, newAgent } from "@countersign/testing/agents";
import { Child, type Outcome, type Owner, temporaryFolder } from "@countersign/testing/child";
import {
  countersign,
  ownEnvironment,
  type Server,
  startServer,
} from "@countersign/testing/countersign";
import type { Finding } from "../../src/doctor/finding.ts";
import { BIN } from "./hook-scene.ts";

/** Above the limit of a trial of doctor, which is 180 s. */
const RUN_MS_MAX = 240_000;

const POLICY = `version: 1
rules:
  - id: canary
    match: { tool: countersign_canary }
    then: deny
    note: Seen.
`;

/** Settings that a user wrote. */
export const OWN_SETTINGS = '{\n\t"model": "opus",\n\t"env": {"N": 1.0}\n}\n';

export interface InstallScene {
  readonly server: Server;
  readonly provisioner: string;
  /** Of an instance. */
  readonly credential: string;
  /** Installs the hook in this home, with the credential. */
  install(t: TestContext, home: Home, agent?: string, ...more: string[]): Promise<Outcome>;
}

export async function startInstallScene(owner: Owner): Promise<InstallScene> {
  const server = await startServer(owner);
  const provisioner = await makeToken(server.data, { kind: "provisioner", name: "installer" });
  const credential = (await newAgent(server)).token;
  const editor = await makeToken(server.data, { kind: "reviewer", name: "ed", role: "editor" });
  const policy = join(temporaryFolder(owner), "policy.yaml");
  writeFileSync(policy, POLICY);
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: editor };
  const published = await countersign(owner, ["policy", "publish", policy, "--yes"], { env });
  assert.equal(published.code, 0, published.stderr);
  const install: InstallScene["install"] = async (t, home, agent = "claude-code", ...more) => {
    const args = ["install", agent, "--url", server.url, ...more];
    const outcome = await run(t, home, args, { secret: credential });
    assert.equal(outcome.code, 0, outcome.stderr);
    assert.ok(!`${outcome.stdout}${outcome.stderr}`.includes(credential));
    return outcome;
  };
  return { server, provisioner, credential, install };
}

export interface Home {
  readonly path: string;
  readonly settings: string;
  readonly profile: string;
  readonly codex: string;
}

export function newHome(t: TestContext, settings?: string): Home {
  const path = temporaryFolder(t, "countersign home ");
  const home = {
    path,
    settings: join(path, ".claude/settings.json"),
    profile: join(path, ".config/countersign/adapters/claude-code.json"),
    codex: join(path, ".codex/hooks.json"),
  };
  for (const name of [home.settings, home.codex]) mkdirSync(dirname(name));
  if (settings !== undefined) writeFileSync(home.settings, settings, { mode: 0o644 });
  return home;
}

/** Runs a command in this home with a secret on stdin. */
export function run(
  t: TestContext,
  home: Home,
  args: readonly string[],
  { secret = "", env = {} }: { secret?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Outcome> {
  const entries = Object.entries(ownEnvironment());
  const kept = entries.filter(
    ([name]) => !/^(XDG_|CLAUDE|CLINE|CODEX|COPILOT|GEMINI|OPENCLAW|PI_|npm_)/.test(name),
  );
  const all = { ...Object.fromEntries(kept), HOME: home.path, SHELL: "/bin/sh", ...env };
  // printf is a shell builtin: the secret is not an argument of a process.
  const shell = ["/bin/sh", "-c", 'printf "%s\\n" "$SECRET" | "$@"', "sh", process.execPath, BIN];
  return new Child(t, [...shell, ...args], {
    env: { ...all, SECRET: secret },
    cwd: home.path,
  }).ends(RUN_MS_MAX);
}

export async function findings(
  t: TestContext,
  home: Home,
  agent = "claude-code",
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; failed: string[]; all: Readonly<Record<string, Finding>> }> {
  const { code, stdout, stderr } = await run(t, home, ["doctor", agent, "--json"], { env });
  assert.equal(stderr, "");
  const [result] = JSON.parse(stdout) as { findings: Finding[] }[];
  const all = Object.fromEntries((result?.findings ?? []).map((each) => [each.check, each]));
  const failed = Object.values(all).filter(({ level }) => level === "fail");
  for (const { advice, check } of failed) assert.ok(advice || check === "environment", check);
  return { code, failed: failed.map(({ check }) => check), all };
}

/** The PATH of a user who has installed that agent. */
export function withProgram(t: TestContext, name: string, program: string): NodeJS.ProcessEnv {
  const bin = temporaryFolder(t);
  symlinkSync(program, join(bin, name));
  // The Node of the tests comes first: Kimi Code does not start with Node 20.
  return { PATH: [bin, dirname(process.execPath), process.env.PATH].join(":") };
}

/** Adds a member at the start of the settings of Claude Code. */
export function addMember({ settings }: Home, member: string): void {
  const text = readFileSync(settings, "utf8");
  writeFileSync(settings, text.replace("{", `{${member},`));
}
