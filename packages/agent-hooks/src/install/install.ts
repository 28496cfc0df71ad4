/**
 * Adds the hook to an agent's settings and removes it again, so that the settings are as before.
 *
 * Promises: a second install changes nothing; a file that cannot be read is not written; the
 * profile records a change before it is made.
 */

import { createHash } from "node:crypto";
import { type Agent, installedEvents } from "@countersign/agents";
import { toolListFile } from "../codex/tool-list.ts";
import { assertTrustable, planTrust, removeTrust } from "../codex/trust-file.ts";
import { GRACE_MS } from "../hook/run-hook.ts";
import { removeFile, replaceFile } from "../profile/owner-only-file.ts";
import {
  type Installed,
  type Profile,
  readProfile,
  WAIT_MS_MAX,
  writeProfile,
} from "../profile/profile.ts";
import { addHooks, findHooks, type HookEntry, removeHooks } from "./agent-settings.ts";
import { hookCommand } from "./hook-command.ts";
import type { HookPlace } from "./hook-place.ts";
import { findSettingsFault } from "./settings-fault.ts";
import { SettingsFile } from "./settings-file.ts";
import { UnusableSettings } from "./settings-handler.ts";
import {
  assertLaunchable,
  launcherCommand,
  launcherFile,
  launcherText,
} from "./windows-launcher.ts";

/** Between the end of the hook's wait and the agent's limit: time to start and to cancel. */
const LIMIT_MARGIN_MS = 60_000;

export interface InstallPlace {
  readonly agent: Agent;
  /** The agent's settings. */
  readonly settings: string;
  /** Where our profile is. */
  readonly profile: string;
  /** Path of Node. */
  readonly node: string;
  /** Path of the program, which runs the hook. */
  readonly script: string;
  /**
   * Name of the program, for commands that messages recommend. Without npx: the hook's command
   * contains the name, and must not depend on how the user started install or doctor.
   */
  readonly program: string;
  /** Home of the user. */
  readonly home: string;
  /** The folder of Windows. Undefined on other systems. */
  readonly systemRoot: string | undefined;
}

/** The options of the profile that the settings entry depends on. */
export type EntryOptions = Pick<Profile, "waitMs" | "promptsOnly" | "environment" | "caFile">;

export function entryFor(place: InstallPlace, options: EntryOptions): HookEntry {
  const { agent, profile, systemRoot } = place;
  const { waitMs } = options;
  const limitMs = limitFor(waitMs);
  if (systemRoot === undefined) {
    return { command: hookCommand(hookPlace(place, options)), limitMs, members: {} };
  }
  const { windows, name } = agent;
  const command = launcherCommand(systemRoot, launcherFile(profile, name));
  return { command, limitMs, members: windows.kind === "launcher" ? windows.members : {} };
}

function hookPlace(
  { agent, ...paths }: InstallPlace,
  { promptsOnly, environment, caFile }: EntryOptions,
): HookPlace {
  const [{ output }] = installedEvents(agent, { promptsOnly });
  return {
    ...paths,
    agent: agent.name,
    denied: output.denied,
    isPrompt: promptsOnly,
    environment,
    caFile,
  };
}

/**
 * The batch file that runs the hook on Windows. Undefined on other systems.
 *
 * @throws Error: the hook cannot be installed on Windows
 */
export function launcherFor(place: InstallPlace, options: EntryOptions): string | undefined {
  const { agent, systemRoot } = place;
  if (systemRoot === undefined) return undefined;
  const { windows, title, hasHttpHooks } = agent;
  const inside = hookPlace(place, options);
  const denied = inside.denied ?? (windows.kind === "launcher" ? windows.denied : undefined);
  if (windows.kind === "refused" || denied === undefined) {
    const reason = windows.kind === "refused" ? windows.reason : "it has no denial for stdout";
    const other = hasHttpHooks ? "Use its hooks over HTTP, or run it in WSL." : "Run it in WSL.";
    throw new Error(`The hook of ${title} cannot be installed on Windows: ${reason}. ${other}`);
  }
  assertLaunchable(inside, systemRoot);
  return launcherText(inside, denied, systemRoot);
}

/** The agent's time limit for a hook that waits this long. The hook itself ends before it. */
function limitFor(waitMs: number): number {
  return waitMs + GRACE_MS + LIMIT_MARGIN_MS;
}

/** The longest wait of a hook of this agent. */
export function waitMsMax({ settings: { limitMaxMs } }: Agent): number {
  return limitMaxMs === undefined ? WAIT_MS_MAX : limitMaxMs - limitFor(0);
}

/**
 * @param trusted as for install
 * @throws UnusableSettings, Error: install cannot change these settings
 */
export function assertInstallable(
  place: InstallPlace,
  options: EntryOptions,
  trusted?: string,
): void {
  launcherFor(place, options);
  openInstallable(place);
  if (trusted !== undefined) assertTrustable(trusted);
}

function openInstallable({ agent, profile, settings }: InstallPlace) {
  const file = openSettings(settings, agent);
  const fault = findSettingsFault(file.text ?? "", agent);
  if (fault !== undefined) {
    const what = `${file.path} was not changed. ${agent.title} ignores the whole file: ${fault}`;
    throw new UnusableSettings(`${what}. Fix that, then run install again.`);
  }
  const before = readProfile(profile)?.installed;
  if (before !== undefined && before.settings !== settings) {
    const advice = `uninstall ${agent.name} first`;
    throw new Error(`The hook is in ${before.settings}; ${advice}, or use another --profile.`);
  }
  return { file, before };
}

/**
 * @param wanted the new profile
 * @param trusted the settings as Codex names them, to record that its user trusts the hook
 * @returns whether the settings have changed
 * @throws UnusableSettings, Error: nothing was written to the settings
 */
export function install(
  place: InstallPlace,
  wanted: Omit<Profile, "installed">,
  trusted?: string,
): boolean {
  const { agent, profile } = place;
  const { file, before } = openInstallable(place);
  const launcher = launcherFor(place, wanted);
  const original = originalOf(file, agent, before);
  const edited = reading(file.path, () => {
    const events = installedEvents(agent, wanted);
    return addHooks(agent, original ?? "", events, entryFor(place, wanted));
  });
  const plan =
    trusted === undefined ? undefined : planTrust(agent, edited.text, trusted, before?.trust);
  const installed: Installed = {
    settings: place.settings,
    sha256: [edited.text, file.text ?? ""].map(digest),
    inserted: edited.inserted,
    backup: original,
    trust: plan?.trust,
  };
  if (plan === undefined && before?.trust !== undefined) removeTrust(before.trust);
  // The agent runs calls after its limit, so the hook never waits longer than the limit permits.
  const waitMs = Math.min(readProfile(profile)?.waitMs ?? wanted.waitMs, wanted.waitMs);
  writeProfile(profile, { ...wanted, waitMs, installed });
  if (launcher !== undefined) replaceFile(launcherFile(profile, agent.name), launcher);
  file.replace(edited.text);
  plan?.write();
  if (waitMs !== wanted.waitMs) writeProfile(profile, { ...wanted, installed });
  return file.text !== edited.text;
}

export interface Uninstalled {
  readonly settings: string;
  readonly isChanged: boolean;
  /** The file with a record of the trusted hook that uninstall could not remove. */
  readonly leftTrust: string | undefined;
}

/**
 * @param settings the file to use if no profile names one
 * @throws UnusableSettings, Error
 */
export function uninstall(agent: Agent, profile: string, settings: string): Uninstalled {
  const before = readProfile(profile)?.installed;
  const path = before?.settings ?? settings;
  const file = openSettings(path, agent);
  const original = originalOf(file, agent, before);
  file.replace(original);
  const trust = before?.trust;
  const leftTrust = trust === undefined || removeTrust(trust) ? undefined : trust.file;
  removeFile(profile);
  removeFile(toolListFile(profile));
  removeFile(launcherFile(profile, agent.name));
  return { settings: path, isChanged: file.text !== original, leftTrust };
}

/** The settings without the hook. Restores the backup if nothing else has changed the file. */
function originalOf(
  file: SettingsFile,
  agent: Agent,
  before: Installed | undefined,
): string | undefined {
  if (file.text === undefined) return undefined;
  if (before?.sha256.includes(digest(file.text))) return before.backup;
  const { text } = file;
  return reading(file.path, () => removeHooks(agent, text, before?.inserted));
}

function openSettings(path: string, agent: Agent): SettingsFile {
  const file = new SettingsFile(path);
  // Parsed before anything is written: a rejected file leaves no trace.
  reading(file.path, () => findHooks(agent, file.text ?? ""));
  return file;
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UnusableSettings)) throw error;
    const advice = "Correct the file, and run this command again.";
    throw new UnusableSettings(`${path} was not changed: ${error.message}. ${advice}`);
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
