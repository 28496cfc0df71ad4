/**
 * Every supported agent: the commands report settings that they cannot read, or that the user
 * changed, and do not write them.
 */

import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { before, type TestContext, test } from "node:test";
import { AGENTS, type Agent } from "@countersign/agents";
import { processTerminal, runProgram } from "@countersign/command-line";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { COMMANDS } from "../src/commands/index.ts";
import { readProfile } from "../src/profile/profile.ts";
import { BIN } from "./support/hook-scene.ts";

const PROGRAM = {
  name: "countersign-agent-hooks",
  version: "0",
  summary: "",
  commands: COMMANDS,
};

const file = fileOwner();
let scene: AgentScene;

before(async () => {
  // install writes the running program into the command of the hook.
  process.argv[1] = BIN;
  scene = await startAgentScene(file);
});

interface Fault {
  readonly name: string;
  /** Replaces the settings, which contain the hook. */
  plant(settings: string): void;
  readonly message: RegExp;
}

/** Faults of the file itself. */
const UNREADABLE: readonly Fault[] = [
  {
    name: "not UTF-8",
    plant: (path) => writeFileSync(path, Buffer.of(0x22, 0xff)),
    message: /cannot be read: The encoded data was not valid/,
  },
  {
    name: "a directory",
    plant: (path) => replace(path, () => mkdirSync(path)),
    message: /cannot be read: EISDIR/,
  },
  {
    // The superuser can read a file without permissions, but no link to itself.
    name: "a link to itself",
    plant: (path) => replace(path, () => symlinkSync(path, path)),
    message: /cannot be read: ELOOP/,
  },
];

function replace(path: string, create: () => void): void {
  rmSync(path);
  create();
}

function text(written: string, message: RegExp): Fault {
  return { name: written, plant: (path) => writeFileSync(path, written), message };
}

/** Faults of the text. */
function faultsIn({ settings, events }: Agent): readonly Fault[] {
  const [{ name }] = events;
  switch (settings.kind) {
    case "json":
      return [
        text("{", /line 1 is not (strict )?JSON/),
        text('{"hooks": []}', /hooks is not an object|must be of type object/),
        text(`{"hooks": {"${name}": {}}}`, /is not a list|must be of type array/),
      ];
    case "toml":
      return [
        text("a = \n", /line 1 is not valid TOML/),
        text("hooks = 1\n", /hooks is not a list of tables/),
      ];
    case "yaml":
      return [
        text("a: [\n", /line \d is not valid YAML/),
        text("hooks: true\n", /hooks is not a map/),
        text(`hooks:\n  ${name}: {}\n`, /is not a list/),
      ];
    case "own-file":
      return [
        {
          name: "a changed program",
          plant: (path) => {
            const written = readFileSync(path, "utf8");
            writeFileSync(path, written.replace("\n", "\n\n"));
          },
          message: /differs from the file that install writes/,
        },
      ];
  }
}

for (const agent of AGENTS) {
  test(`[ours.adapters.agents.broken] ${agent.name}: the commands report broken settings and do not change them`, async (t) => {
    for (const fault of [...UNREADABLE, ...faultsIn(agent)]) {
      const cli = commandLine(t);
      const installed = await cli("install", agent.name, "--wait", "1s");
      assert.equal(installed.code, 0, installed.printed);
      const [result = ""] = installed.printed.split("\n");
      const { settings, profile } = JSON.parse(result);
      fault.plant(settings);
      const planted = contentOf(settings);
      const written = readFileSync(profile, "utf8");
      const commands = [
        ["install", agent.name],
        ["uninstall", agent.name],
        ["doctor", agent.name, "--no-agent"],
        ["status"],
      ];
      for (const words of commands) {
        const { code, printed } = await cli(...words);
        const what = `${words.join(" ")} with ${fault.name}: ${printed}`;
        assert.equal(code, 1, what);
        assert.ok(printed.includes(settings), what);
        assert.match(printed, fault.message, what);
        assert.deepEqual(contentOf(settings), planted, what);
        assert.equal(readFileSync(profile, "utf8"), written, what);
      }
      assert.ok(readProfile(profile) !== undefined);
      rmSync(profile);
      const again = await cli("install", agent.name);
      assert.deepEqual([again.code, existsSync(profile)], [1, false], fault.name);
      assert.deepEqual(contentOf(settings), planted, fault.name);
    }
  });
}

/** The bytes of a file, the target of a link, or the names in a folder. */
function contentOf(path: string): unknown {
  const stats = lstatSync(path);
  if (stats.isSymbolicLink()) return readlinkSync(path);
  return stats.isDirectory() ? readdirSync(path) : readFileSync(path);
}

/** Runs the program in this process, in a home of its own. */
function commandLine(t: TestContext) {
  const home = temporaryFolder(t);
  const variables = {
    HOME: home,
    PATH: home,
    COUNTERSIGN_URL: scene.url,
    COUNTERSIGN_API_KEY: scene.token,
  };
  return async (...words: string[]): Promise<{ code: number; printed: string }> => {
    const kept = { ...process.env };
    setEnvironment(variables);
    // Never change the settings of the user who runs the tests.
    assert.equal(homedir(), home);
    let printed = "";
    const print = (line: string) => {
      printed += `${line}\n`;
    };
    try {
      const terminal = { ...processTerminal, out: print, note: print };
      const code = await runProgram(PROGRAM, [...words, "--json"], terminal);
      return { code, printed };
    } finally {
      setEnvironment(kept);
    }
  };
}

/** Another object in `process.env` would not change the home folder. */
function setEnvironment(variables: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, variables);
}
