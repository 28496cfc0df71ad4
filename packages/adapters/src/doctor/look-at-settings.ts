/**
 * Whether the agent's settings have the hook, as install writes it, and nothing that turns it off.
 *
 * Called by: doctor.
 */

import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parse as parseToml } from "smol-toml";
import { type Handler, handlersIn, ownHandlers } from "../install/edit-settings.ts";
import { type EntryOptions, handlerFor, type InstallPlace } from "../install/install.ts";
import { findSettingsFault } from "../install/settings-fault.ts";
import { SettingsFile } from "../install/settings-file.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import { lookAtClaudeFiles } from "./look-at-claude-files.ts";

export interface SettingsLook {
  readonly findings: readonly Finding[];
  /** The command that stands there. */
  readonly command: string | undefined;
}

/**
 * @param profile undefined when no profile can be read
 * @param folder of the project, whose settings the agent reads as well
 */
export function lookAtSettings(
  place: InstallPlace,
  profile: EntryOptions | undefined,
  folder: string,
): SettingsLook {
  const { agent, settings } = place;
  const again = `countersign install ${agent.name}`;
  let handlers: readonly Handler[];
  let own: readonly Handler[];
  let file: SettingsFile;
  try {
    file = new SettingsFile(settings);
    handlers = handlersIn(file.text || "{}");
    own = ownHandlers(file.text || "{}", agent.name);
  } catch (error) {
    const text = `${settings} cannot be read: ${Object(error).message}`;
    const advice = `Mend it; ${agent.title} may ignore all of it meanwhile.`;
    return { findings: [fail("settings", text, advice)], command: undefined };
  }
  const fault = findSettingsFault(file.text ?? "", agent);
  const [first] = own;
  if (first === undefined) {
    const text = `${file.path} has no hook of countersign: nothing is asked.`;
    return { findings: [fail("settings", text, `Run: ${again}`)], command: undefined };
  }
  const command = String(first.value.command);
  const what = `${agent.title} ignores all of ${file.path}: ${fault}. Nothing is asked.`;
  const findings = [
    ...(fault === undefined ? [] : [fail("settings.ignored", what, "Fix that in the file.")]),
    ...lookAtEntry(first, own.length, place, profile, again),
    ...lookAtOthers(handlers.length - own.length),
    ...(agent.name === "codex"
      ? lookAtCodex(settings, first)
      : lookAtClaudeFiles(file.path, folder)),
  ];
  const isWhole = findings.every(({ level }) => level !== "fail");
  const text = `${file.path} has the hook, for every tool.`;
  return { findings: isWhole ? [ok("settings", text), ...findings] : findings, command };
}

function lookAtEntry(
  { matcher, value }: Handler,
  count: number,
  place: InstallPlace,
  profile: EntryOptions | undefined,
  again: string,
): Finding[] {
  const expected = handlerFor(place, profile ?? { waitMs: 0, environment: false });
  const findings: Finding[] = [];
  if (count > 1) {
    const text = `The hook is there ${count} times; the second to ask is told that it was used.`;
    findings.push(fail("settings.twice", text, `Run: ${again}`));
  }
  if (matcher !== undefined && matcher !== "" && matcher !== "*") {
    const text = `Tools that do not match ${JSON.stringify(matcher)} run unasked.`;
    findings.push(fail("settings.matcher", text, `Run: ${again}`));
  }
  for (const name of new Set([...Object.keys(value), ...Object.keys(expected)])) {
    if (isDeepStrictEqual(value[name], expected[name])) continue;
    // Without a profile the correct limit is unknown.
    if (name === "timeout" && profile === undefined) continue;
    if (name === "statusMessage") continue;
    if (name === "command") {
      const text = "The hook's command is not the one that this countersign would install.";
      findings.push(warn("settings.command", text, `If it was moved or upgraded, run: ${again}`));
      continue;
    }
    const is = JSON.stringify(value[name]) ?? "missing";
    const should = JSON.stringify(expected[name]) ?? "not there";
    const text = `${name} of the hook is ${is}, and must be ${should}.`;
    findings.push(fail(`settings.${name}`, text, `Run: ${again}`));
  }
  return findings;
}

function lookAtOthers(count: number): Finding[] {
  if (count === 0) return [];
  const text = `${count} other hook(s) run before tools; one that changes the call changes it `;
  const advice = "Make sure that none of them returns updatedInput.";
  return [warn("settings.others", `${text}after it was approved.`, advice)];
}

/** Codex: a switch in its configuration, and its own record of which hooks were reviewed. */
function lookAtCodex(path: string, handler: Handler): Finding[] {
  const config = join(dirname(path), "config.toml");
  let root: Record<string, unknown>;
  try {
    root = parseToml(new SettingsFile(config).text ?? "");
  } catch {
    return [fail("settings.config", `${config} cannot be read.`, "Mend it.")];
  }
  const findings: Finding[] = [];
  const features = Object(root.features) as Record<string, unknown>;
  if (features.hooks === false || features.codex_hooks === false) {
    const text = `${config} turns hooks off, so nothing is asked.`;
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
    const text = "The hook is disabled in Codex, so nothing is asked.";
    findings.push(fail("settings.disabled", text, "Enable it: /hooks in Codex."));
  }
  if (typeof state.trusted_hash !== "string") {
    const text = "Codex skips the hook until you have trusted it, so nothing is asked.";
    findings.push(fail("settings.trusted", text, "Start codex, say /hooks, and trust it."));
  }
  return findings;
}
