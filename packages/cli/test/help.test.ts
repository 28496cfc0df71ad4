import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join, sep } from "node:path";
import { test } from "node:test";
import { Child, temporaryFolder } from "@countersign/testing/child";
import { BIN, countersign, ownEnvironment } from "@countersign/testing/countersign";
import { ALL_OPTIONS, environmentName, flagName } from "../../server/src/config/options.ts";

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  serve: [],
  "tokens create": ["--name NAME", "--project PROJECT", "--role ROLE", "--expires-in DURATION"],
  "tokens list": [],
  "tokens revoke": [],
  "people list": [],
  "people disable": [],
  "people enable": [],
  "people link": ["--subject SUB", "--remove"],
  "people setup-link": ["--project PROJECT"],
  "people recovery-link": ["--forget-passkeys"],
  "invitations create": ["--role ROLE", "--groups A,B", "--lasts DURATION"],
  "invitations list": [],
  "invitations revoke": [],
  "requests list": ["--state STATE", "--limit COUNT"],
  "requests search": ["--limit COUNT"],
  "requests show": [],
  "requests approve": ["--note TEXT", "--valid-for DURATION", "--digest SHA256", "--yes"],
  "requests deny": ["--note TEXT"],
  "requests watch": [],
  "requests withdraw": [],
  "reviewers list": ["--project PROJECT"],
  "reviewers set": ["--role ROLE", "--groups A,B"],
  "reviewers remove": [],
  init: ["--yes", "--policy NAME", "--agent NAME", "--no-browser", "--test"],
  "agents create": ["--groups A,B", "--owner REVIEWER", "--project PROJECT"],
  "agents list": ["--limit COUNT", "--project PROJECT"],
  "agents show": [],
  "agents set": ["--groups A,B", "--owner NAME"],
  "agents delete": ["--project PROJECT"],
  "policy propose": ["--floor", "--restore NUMBER", "--note TEXT", "--expect NUMBER"],
  "policy proposals": ["--closed", "--limit COUNT"],
  "policy proposal": [],
  "policy reject": ["--note TEXT"],
  "policy release": ["--project PROJECT"],
  "audit verify": ["--project PROJECT", "--server", "--public-key KEY", "--checkpoint FILE"],
  "audit export": ["--since TIME", "--format FORMAT", "--after POSITION", "--out FILE"],
  "audit checkpoint": [],
  "audit key": [],
  "audit prove": ["--out FILE"],
  "deliveries list": ["--ended", "--limit COUNT"],
  "deliveries show": [],
  "deliveries retry-now": ["--instance ID"],
  "policy check": ["--floor", "--offline"],
  "policy test": ["--floor"],
  "policy show": ["--floor", "--number NUMBER"],
  "policy history": ["--floor", "--limit COUNT"],
  "policy publish": ["--floor", "--note TEXT", "--expect NUMBER", "--yes"],
  "policy rollback": ["--floor", "--note TEXT", "--expect NUMBER", "--yes"],
  "policy simulate": ["--floor", "--since SPAN", "--until SPAN", "--instance ID", "--all"],
  freeze: ["--project", "--server", "--note TEXT"],
  unfreeze: ["--project", "--server"],
  "freezes list": ["--lifted", "--limit COUNT"],
  "grants list": ["--ended", "--limit COUNT"],
  "grants create": [
    "--instance ID",
    "--tool GLOB",
    "--when CEL",
    "--session ID",
    "--any-session",
    "--calls COUNT",
    "--lasts DURATION",
    "--valid-for DURATION",
    "--note TEXT",
  ],
  "grants show": [],
  "grants revoke": [],
  plan: ["-f, --file DIR", "--prune", "--set-secrets"],
  apply: ["-f, --file DIR", "--prune", "--secrets DIR", "--yes"],
  export: ["-d, --dir DIR"],
  "channels create": [
    "--name NAME",
    "--target URL",
    "--to ADDRESS,ADDRESS",
    "--access-token TOKEN",
    "--signing-secret SECRET",
    "--groups GROUP,GROUP",
    "--include-arguments",
    "--remind-before DURATION",
  ],
  "channels list": [],
  "channels test": [],
  "channels disable": [],
  "channels enable": [],
  "channels delete": [],
  "secret-key show": [],
  "secret-key rotate": [],
  migrate: ["--check"],
  import: ["--accept-damaged"],
  backup: [],
  compact: [],
  hook: ["--profile FILE"],
  install: [
    "--url URL",
    "--provision",
    "--name NAME",
    "--wait DURATION",
    "--leave TOOLS",
    "--keep-prompts",
    "--environment",
    "--settings FILE",
    "--profile FILE",
  ],
  uninstall: ["--delete-instance", "--settings FILE", "--profile FILE"],
  status: [],
  doctor: ["--settings FILE", "--profile FILE"],
  "mcp-gateway": ["--config FILE", "--provider-url URL", "--token-file FILE", "--check", "--pin"],
  conformance: [
    "--provisioner-token-file FILE",
    "--decider NAME",
    "--decider-command PROGRAM",
    "--receiver-host HOST",
    "--receiver-ca DIR",
    "--only ID,ID",
    "--allow-untested",
    "--json FILE",
    "--junit FILE",
    "--list",
  ],
};

const GROUPS: Readonly<Record<string, readonly string[]>> = {
  serve: ["server", "limits", "sign-in", "workloads", "webhooks", "channels", "audit"],
  tokens: ["server"],
  reviewers: ["server"],
  init: ["server"],
  agents: ["server", "client"],
  "agents set": ["client"],
  "agents show": ["client"],
  audit: ["server"],
  "policy release": ["server"],
  "people link": ["server", "sign-in"],
  people: ["server"],
  invitations: ["client"],
  requests: ["client"],
  deliveries: ["client"],
  policy: ["client"],
  "policy test": [],
  freeze: ["client"],
  unfreeze: ["client"],
  freezes: ["client"],
  grants: ["client"],
  channels: ["client"],
  plan: ["client"],
  apply: ["client"],
  export: ["client"],
  "secret-key": ["server"],
  migrate: ["server"],
  import: ["server"],
  backup: ["server"],
  compact: ["server"],
};

/** Commands of other packages, which take no settings. */
const FORWARDED = [
  "hook",
  "install",
  "uninstall",
  "status",
  "doctor",
  "conformance",
  "mcp-gateway",
];

test("[ours.cli.help] the overview names every command, the exit codes and the way to a setting", async (t) => {
  const outcomes = [
    await countersign(t, ["--help"]),
    await countersign(t, ["help"]),
    await countersign(t, ["-h"]),
  ];
  for (const outcome of outcomes) assert.deepEqual(outcome, outcomes[0]);
  const { code, stdout, stderr } = outcomes[0] ?? { code: null, stdout: "", stderr: "" };
  assert.deepEqual([code, stderr], [0, ""]);
  for (const name of Object.keys(COMMANDS)) assert.match(stdout, new RegExp(`^  ${name}\\b`, "m"));
  assert.match(stdout, /Without a command, countersign runs serve\./);
  assert.match(stdout, /--port is COUNTERSIGN_PORT/);
  assert.match(stdout, /0 success, 1 failure, 2 wrong usage, 3 server unreachable/);
});

for (const [name, own] of Object.entries(COMMANDS)) {
  test(`[ours.cli.help] ${name} --help names every option with its environment variable and default`, async (t) => {
    const words = name.split(" ");
    const { code, stdout, stderr } = await countersign(t, [...words, "--help"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, new RegExp(`^Usage: countersign ${name}`));
    for (const option of [...own, "--json"]) assert.match(stdout, new RegExp(`^  ${option} `, "m"));
    const [, , summary = ""] = stdout.split("\n");
    assert.match(summary, /^[A-Z][a-z]+ .{1,52}\.$/, "an imperative phrase under 60 characters");
    assert.match(stdout, new RegExp(`\nExample:\n  countersign ${name}`));

    const groups = GROUPS[name] ?? GROUPS[words[0] ?? ""] ?? [];
    const settings = ALL_OPTIONS.filter(({ group, name: setting }) => {
      return !FORWARDED.includes(name) && (groups.includes(group) || setting === "config");
    });
    assert.ok(FORWARDED.includes(name) || settings.length > groups.length);
    for (const { name, value, secret, help, default: fallback } of settings) {
      const flag = value === undefined ? flagName(name) : `${flagName(name)} ${value}`;
      const variable = environmentName(name);
      const syntax = secret === true ? `${variable}=${value}` : `${flag}, ${variable}`;
      const shown = fallback ? `${help} [${fallback}]` : help;
      assert.ok(
        stdout.includes(`\n  ${syntax}\n      ${shown}\n`),
        `${name} is not in:\n${stdout}`,
      );
    }
    // The help of a forwarded command can name variables that are not settings.
    if (FORWARDED.includes(name)) assert.doesNotMatch(stdout, /^Settings/m);
    else assert.equal(stdout.split("COUNTERSIGN_").length - 1, settings.length);
  });
}

test("[ours.cli.help] help for a family lists its commands", async (t) => {
  const { code, stdout } = await countersign(t, ["requests", "--help"]);
  assert.equal(code, 0);
  assert.match(stdout, /^ {2}requests watch /m);
  assert.doesNotMatch(stdout, /^ {2}tokens/m);
});

test("[ours.cli.help] the command accepts only the options that --help names", async (t) => {
  const { stdout } = await countersign(t, ["requests", "list", "--help"]);
  for (const { name, group } of ALL_OPTIONS) {
    if (group === "client" || name === "config") continue;
    assert.doesNotMatch(stdout, new RegExp(`${flagName(name)}\\b`));
  }
  const { code } = await countersign(t, ["requests", "list", "--port", "80"]);
  assert.equal(code, 2);
});

test("[ours.cli.help] --version prints the version alone", async (t) => {
  const { code, stdout } = await countersign(t, ["--version"]);
  assert.equal(code, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

/** An older Node of this machine, if it has one. */
function olderNode(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const candidates = folders
    .filter((folder) => !folder.includes(`node_modules${sep}.bin`))
    .map((folder) => join(folder, "node"))
    .filter(existsSync);
  return candidates.find((node) => {
    const version = execFileSync(node, ["--version"], { encoding: "utf8" });
    return Number(/^v(\d+)/.exec(version)?.[1]) < 24;
  });
}

const PRETENCE = `
  const versions = { ...process.versions, node: "23.11.1" };
  Object.defineProperty(process, "versions", { value: versions });
`;

/** This Node under the name of an older one. */
const PRETENDER = [
  process.execPath,
  "--import",
  `data:text/javascript,${encodeURIComponent(PRETENCE)}`,
];

test("[ours.cli.old-node] an older Node prints one clear line and changes nothing", async (t) => {
  const older = olderNode();
  const commands = [PRETENDER, ...(older === undefined ? [] : [[older]])];
  for (const command of commands) {
    const cwd = temporaryFolder(t);
    const child = new Child(t, [...command, BIN, "serve"], { env: ownEnvironment(), cwd });
    const { code, stdout, stderr } = await child.ends();
    assert.equal(code, 2, stderr);
    assert.equal(stdout, "");
    assert.match(
      stderr,
      /^countersign needs Node 24 or newer; this is Node \d+\.\d+\.\d+ \(.+\)\. /,
    );
    assert.match(stderr, /^[^\n]* npm install node@24 [^\n]*\n$/);
    assert.equal(existsSync(join(cwd, "data")), false);
  }
});

test("[ours.cli.old-node] the same command runs on this Node", async (t) => {
  const child = new Child(t, [process.execPath, BIN, "--version"], { env: ownEnvironment() });
  assert.equal((await child.ends()).code, 0);
});
