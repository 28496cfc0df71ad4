/**
 * Checks that the agent's settings contain the hook as install writes it and nothing disables it.
 */

import { isDeepStrictEqual } from "node:util";
import { installedEvents } from "@countersign/agents";
import { typedCommand } from "@countersign/command-line";
import { type FoundHooks, findHooks, handlerOf, ownFileFault } from "../install/agent-settings.ts";
import { type EntryOptions, entryFor, type InstallPlace } from "../install/install.ts";
import { findSettingsFault } from "../install/settings-fault.ts";
import { SettingsFile } from "../install/settings-file.ts";
import { commandOf, type Handler, UnusableSettings } from "../install/settings-handler.ts";
import { checkClaudeFiles } from "./check-claude-files.ts";
import { checkCodexConfig } from "./check-codex-config.ts";
import { checkHermesConsent } from "./check-hermes-consent.ts";
import { checkOpenClawConfig } from "./check-openclaw-config.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

export interface SettingsCheck {
  readonly findings: readonly Finding[];
  /** Undefined: the file does not contain the hook. */
  readonly hook: InstalledHook | undefined;
}

export interface InstalledHook {
  readonly event: string;
  readonly command: string;
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
  let found: FoundHooks;
  let file: SettingsFile;
  try {
    file = new SettingsFile(settings);
    found = findHooks(agent, file.text ?? "");
  } catch (error) {
    const { message } = Object(error);
    const isNamed = !(error instanceof UnusableSettings);
    const text = isNamed ? message : `${settings} cannot be read: ${message}`;
    const advice = `Fix it. Until then, ${agent.title} may ignore the whole file.`;
    return { findings: [fail("settings", text, advice)], hook: undefined };
  }
  const fault = findSettingsFault(file.text ?? "", agent);
  const { all, own } = found;
  const [first] = own;
  if (first === undefined) {
    const text = `${file.path} does not contain the hook. Calls run without approval.`;
    return { findings: [fail("settings", text, `Run: ${again}`)], hook: undefined };
  }
  // Doctor's canary needs an event with a name of the tool.
  const named = agent.events.filter(({ call }) => "path" in call.tool).map(({ name }) => name);
  const tested = own.find(({ event }) => named.includes(event)) ?? first;
  const hook = { event: tested.event, command: commandOf(tested.value) ?? "" };
  const what = `${agent.title} ignores all of ${file.path}: ${fault}. Calls run without approval.`;
  const findings = [
    ...(fault === undefined ? [] : [fail("settings.ignored", what, "Fix that in the file.")]),
    ...checkOwnFile(ownFileFault(agent, file.text ?? ""), file.path, again),
    ...checkEvents(own, place, profile, again),
    ...own.flatMap((handler) => checkEntry(handler, place, profile, again)),
    ...checkOtherHandlers(all.length - own.length),
    ...(CHECKS[agent.name]?.({ settings, path: file.path, folder, handler: first, again }) ?? []),
  ];
  const isWhole = findings.every(({ level }) => level !== "fail");
  const text = `${file.path} contains the hook for every tool.`;
  return { findings: isWhole ? [ok("settings", text), ...findings] : findings, hook };
}

interface Checked {
  /** As install names the file, and its real path. */
  readonly settings: string;
  readonly path: string;
  /** Of the project. */
  readonly folder: string;
  readonly handler: Handler;
  /** The command that installs the hook again. */
  readonly again: string;
}

/** Checks of the other files of an agent. */
const CHECKS: Readonly<Record<string, (checked: Checked) => Finding[]>> = {
  "claude-code": ({ path, folder }) => checkClaudeFiles(path, folder),
  codex: ({ settings, handler, again }) => checkCodexConfig(settings, handler, again),
  hermes: ({ path, handler }) => checkHermesConsent(path, handler),
  openclaw: ({ settings }) => checkOpenClawConfig(settings),
};

function checkOwnFile(fault: string | undefined, path: string, again: string): Finding[] {
  if (fault === undefined) return [];
  const text = `${path} may not block calls: ${fault}.`;
  return [fail("settings.changed", text, `Rename or delete it, and run: ${again}`)];
}

/** Each event of the profile has the hook once, and no other event has it. */
function checkEvents(
  own: readonly Handler[],
  { agent }: InstallPlace,
  profile: EntryOptions | undefined,
  again: string,
): Finding[] {
  const advice = `Run: ${again}`;
  const wanted = installedEvents(agent, { promptsOnly: profile?.promptsOnly ?? false });
  const missing = wanted.filter(({ name }) => own.every(({ event }) => event !== name));
  const findings = missing.map(({ name }) => {
    return fail("settings.event", `The hook is missing for the event ${name}.`, advice);
  });
  if (own.length + missing.length > wanted.length) {
    const text = `The hook is installed ${own.length} times. The second one finds a used approval.`;
    findings.push(fail("settings.twice", text, advice));
  }
  return findings;
}

function checkEntry(
  { matcher, value }: Handler,
  place: InstallPlace,
  profile: EntryOptions | undefined,
  again: string,
): Finding[] {
  const unknown = { waitMs: 0, promptsOnly: false, environment: false };
  const expected = handlerOf(place.agent.settings, entryFor(place, profile ?? unknown));
  const findings: Finding[] = [];
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
