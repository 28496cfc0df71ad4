/**
 * Members of Claude Code's settings files that stop a hook or change what it runs: the files of the
 * user, of the project and of the project's local settings.
 */

import { join } from "node:path";
import { parse } from "jsonc-parser";
import { SettingsFile } from "../install/settings-file.ts";
import { type Finding, fail, warn } from "./finding.ts";

/**
 * Variables that choose the code of a program or the place of its files. The installed command
 * removes all variables, but the dynamic loader (LD_, DYLD_) and bash (BASH_) read theirs first.
 */
const DANGEROUS_PREFIX = /^(NODE|LD|DYLD|GLIBC|OPENSSL|SSL|XDG|BASH|COUNTERSIGN)_/;

const DANGEROUS_NAMES = [
  "BASHOPTS",
  "CLAUDE_CONFIG_DIR",
  "ENV",
  "HOME",
  "IFS",
  "PATH",
  "SHELL",
  "SHELLOPTS",
  "ZDOTDIR",
];

export function checkClaudeFiles(settings: string, folder: string): Finding[] {
  const project = ["settings.json", "settings.local.json"].map((name) => {
    return join(folder, ".claude", name);
  });
  return [...new Set([settings, ...project])].flatMap(checkFile);
}

function checkFile(path: string): Finding[] {
  let text: string | undefined;
  try {
    text = new SettingsFile(path).text;
  } catch (error) {
    const what = `${path} was not checked. ${Object(error).message}`;
    return [warn("settings.unreadable", what, "Make it readable: it may disable the hook.")];
  }
  const { disableAllHooks, env } = Object(parse(text ?? "{}")) as Record<string, unknown>;
  const findings: Finding[] = [];
  if (disableAllHooks === true) {
    const what = `${path} sets disableAllHooks. Calls run without approval.`;
    findings.push(fail("settings.disabled", what, "Remove it."));
  }
  const names = Object.keys(Object(env)).filter((name) => {
    return DANGEROUS_PREFIX.test(name) || DANGEROUS_NAMES.includes(name);
  });
  if (names.length > 0) {
    const what = `${path} sets ${names.join(", ")} for hooks, which can replace what they run.`;
    const advice = `Remove it from env. Set it in your shell before you start the agent.`;
    findings.push(fail("settings.env", what, advice));
  }
  return findings;
}
