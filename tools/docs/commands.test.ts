/** Checks that every command of `countersign` that the documentation names exists. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { COMMANDS } from "../../packages/cli/src/main.ts";
import { flagName } from "../../packages/server/src/config/options.ts";
import { settingsOf } from "./cli-page.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGES = [
  "*.md",
  "docs/**/*.md",
  "deploy/**/*.md",
  "examples/**/*.md",
  "packages/*/README.md",
];

/** A changelog and decisions name commands of their time. */
const HISTORY = ["CHANGELOG.md", "docs/decisions/**"];

/** Every command accepts these. */
const COMMON = ["--help", "--json", "--version"];

/** The name of a database connection. */
const NO_COMMAND = "wake";

/** `countersign`, also with npx, at the start of a command. */
const CALL =
  /(?:^|[;&|(]|-- |\w=\S+ )\s*(?:npx +(?:-\S+ +)*)?countersign(?:@\S+)? +([^|;&>)#\n]+)/g;

/** The words after `countersign` in inline code and code blocks, up to the end of the command. */
function namedCommands(markdown: string): string[][] {
  const code = markdown.matchAll(/^```[^\n]*\n(.*?)^```$|(?<!`)`([^`]+)`(?!`)/gms);
  return [...code].flatMap(([, block, inline = ""]) => {
    const lines = (block ?? inline.replace(/\s+/g, " ")).replace(/\\\n/g, " ").split("\n");
    return lines.flatMap((line) => {
      return [...line.matchAll(CALL)].map(([, words = ""]) => words.trim().split(/\s+/));
    });
  });
}

async function optionsOf(name: string): Promise<string[]> {
  const command = await COMMANDS[name]?.();
  assert.ok(command !== undefined, name);
  const settings = "settings" in command ? settingsOf(command) : [];
  const own = Object.keys(command.options).map((option) => `--${option}`);
  return [...COMMON, ...own, ...settings.map((setting) => flagName(setting.name))];
}

/** @returns the fault, if there is one */
async function faultOf([first = "", second = "", ...rest]: string[]): Promise<string | undefined> {
  // A placeholder, such as COMMAND.
  if (!/^[a-z-]+$/.test(first) || first === NO_COMMAND) return undefined;
  const isFamily = Object.keys(COMMANDS).some((each) => each.startsWith(`${first} `));
  // The name of a family means all of its commands.
  if (isFamily && !/^[a-z-]+$/.test(second)) return undefined;
  const name = first.startsWith("-") ? "serve" : isFamily ? `${first} ${second}` : first;
  if (!(name in COMMANDS)) return "unknown command";
  const all = name.includes(" ") ? rest : [first, second, ...rest];
  const own = all.includes("--") ? all.slice(0, all.indexOf("--")) : all;
  const options = own.map((word) => /^--[a-z-]+/.exec(word)?.[0] ?? "").filter(Boolean);
  const known = await optionsOf(name);
  const unknown = options.filter((option) => !known.includes(option));
  return unknown.length === 0 ? undefined : `unknown option ${unknown.join()}`;
}

test("commands are found with npx, in a substitution and after variables", () => {
  const calls = [
    "countersign requests list",
    "npx countersign requests list",
    "npx --yes countersign@0.7.0 requests list",
    "npx --no -- countersign requests list",
    'eval "$(npx countersign requests list)"',
    "COUNTERSIGN_URL=http://localhost npx countersign requests list",
  ];
  for (const call of calls) {
    assert.deepEqual(namedCommands(`Run \`${call}\`.`), [["requests", "list"]], call);
  }
});

test("every command and option of countersign that the documentation names exists", async () => {
  const faults: string[] = [];
  let count = 0;
  for await (const page of glob(PAGES, { cwd: ROOT, exclude: HISTORY })) {
    for (const words of namedCommands(readFileSync(join(ROOT, page), "utf8"))) {
      count++;
      const fault = await faultOf(words);
      if (fault !== undefined) faults.push(`${page}: countersign ${words.join(" ")}: ${fault}`);
    }
  }
  assert.ok(count > 200, String(count));
  assert.deepEqual(faults, []);
});
