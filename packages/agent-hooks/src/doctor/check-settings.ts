/**
 * Checks that the agent's settings contain the hook as install writes it and nothing disables it.
 */

import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { typedCommand } from "@countersign/command-line";
import { parse as parseToml } from "smol-toml";
import { type Handler, handlersIn, ownHandlers } from "../install/edit-settings.ts";
import { type EntryOptions, handlerFor, type InstallPlace } from "../install/install.ts";
import { findSettingsFault } from "../install/settings-fault.ts";
import { SettingsFile } from "../install/settings-file.ts";
import { checkClaudeFiles } from "./check-claude-files.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

export interface SettingsCheck {
  readonly findings: readonly Finding[];
  /** The command of the hook. */
  readonly command: string | undefined;
}

/**
 * @param profile undefined if it cannot be read
 * @param folder of the project: the agent also reads its settings
 */
export function checkSettings(
  place: InstallPlace,
  profile: EntryOptions | undefined,
  folder: string,
  environment: NodeJS.ProcessEnv,
): SettingsCheck {
  const { agent, settings } = place;
  const again = `${typedCommand(place.program, environment)} install ${agent.name}`;
  let handlers: readonly Handler[];
  let own: readonly Handler[];
  let file: SettingsFile;
  try {
    file = new SettingsFile(settings);
    handlers = handlersIn(file.text || "{}");
    own = ownHandlers(file.text || "{}", agent.name);
  } catch (error) {
    const text = `${settings} cannot be read: ${Object(error).message}`;
    const advice = `Fix it. Until then, ${agent.title} may ignore the whole file.`;
    return { findings: [fail("settings", text, advice)], command: undefined };
  }
  const fault = findSettingsFault(file.text ?? "", agent);
  const [first] = own;
  if (first === undefined) {
    const text = `${file.path} does not contain the hook. Calls run without approval.`;
    return { findings: [fail("settings", text, `Run: ${again}`)], command: undefined };
  }
  const command = String(first.value.command);
  const what = `${agent.title} ignores all of ${file.path}: ${fault}. Calls run without approval.`;
  const findings = [
    ...(fault === undefined ? [] : [fail("settings.ignored", what, "Fix that in the file.")]),
    ...checkEntry(first, own.length, place, profile, again),
    ...checkOtherHandlers(handlers.length - own.length),
    ...(agent.name === "codex" ? checkCodex(settings, first) : checkClaudeFiles(file.path, folder)),
  ];
  const isWhole = findings.every(({ level }) => level !== "fail");
  const text = `${file.path} contains the hook for every tool.`;
  return { findings: isWhole ? [ok("settings", text), ...findings] : findings, command };
}

function checkEntry(
  { matcher, value }: Handler,
  count: number,
  place: InstallPlace,
  profile: EntryOptions | undefined,
  again: string,
): Finding[] {
  const expected = handlerFor(place, profile ?? { waitMs: 0, environment: false });
  const findings: Finding[] = [];
  if (count > 1) {
    const text = `The hook is installed ${count} times. The second one finds a used approval.`;
    findings.push(fail("settings.twice", text, `Run: ${again}`));
  }
  if (matcher !== undefined && matcher !== "" && matcher !== "*") {
    const text = `Tools that do not match ${JSON.stringify(matcher)} run without approval.`;
    findings.push(fail("settings.matcher", text, `Run: ${again}`));
  }
  for (const name of new Set([...Object.keys(value), ...Object.keys(expected)])) {
    if (isDeepStrictEqual(value[name], expected[name])) continue;
    // Without a profile the correct limit is unknown.
    if (name === "timeout" && profile === undefined) continue;
    if (name === "statusMessage") continue;
    if (name === "command") {
      const text = `The hook's command is not the one that this ${place.program} installs.`;
      findings.push(warn("settings.command", text, `If you moved or upgraded it, run: ${again}`));
      continue;
    }
    const is = JSON.stringify(value[name]) ?? "missing";
    const should = JSON.stringify(expected[name]) ?? "absent";
    const text = `${name} of the hook is ${is}. It must be ${should}.`;
    findings.push(fail(`settings.${name}`, text, `Run: ${again}`));
  }
  return findings;
}

function checkOtherHandlers(count: number): Finding[] {
  if (count === 0) return [];
  const text = `${count} other hook(s) run before tools. If one changes the call, it changes it `;
  const advice = "Make sure that none of them returns updatedInput.";
  return [warn("settings.others", `${text}after it was approved.`, advice)];
}

/** Codex: switches in its configuration, and its record of trusted hooks. */
function checkCodex(path: string, handler: Handler): Finding[] {
  const config = join(dirname(path), "config.toml");
  let root: Record<string, unknown>;
  try {
    root = parseToml(new SettingsFile(config).text ?? "");
  } catch {
    return [fail("settings.config", `${config} cannot be read.`, "Fix it.")];
  }
  const findings: Finding[] = [];
  const features = Object(root.features) as Record<string, unknown>;
  if (features.hooks === false || features.codex_hooks === false) {
    const text = `${config} disables hooks. Calls run without approval.`;
    findings.push(fail("settings.disabled", text, "Set [features] hooks = true."));
  }
  if (features.unified_exec_tty !== false) {
    const text =
      "An approved interactive shell runs what write_stdin sends to it, without the hook.";
    const advice = `Set [features] unified_exec_tty = false in ${config}.`;
    findings.push(fail("settings.tty", text, advice));
  }
  const states = Object(Object(root.hooks).state) as Record<string, unknown>;
  const key = `${path}:pre_tool_use:${handler.group}:${handler.index}`;
  const state = Object(states[key]) as Record<string, unknown>;
  if (state.enabled === false) {
    const text = "The hook is disabled in Codex. Calls run without approval.";
    findings.push(fail("settings.disabled", text, "Enable it: /hooks in Codex."));
  }
  if (typeof state.trusted_hash !== "string") {
    const text = "Codex skips the hook until you trust it. Calls run without approval.";
    const advice = "Start codex, review the hook (/hooks), and trust it.";
    findings.push(fail("settings.trusted", text, advice));
  }
  return findings;
}
