/**
 * Puts the hook into an agent's settings, and takes it out again so that they are what they were.
 *
 * Called by: the commands install, uninstall and status. Promises: doing it again changes nothing;
 * what cannot be read is not written; the profile knows of a change before it is made.
 */

import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import type { Agent } from "../agents.ts";
import { GRACE_MS } from "../hook/run-hook.ts";
import { type Installed, type Profile, readProfile, writeProfile } from "../profile/profile.ts";
import { insertHandler, ownHandlers, removeHandlers, UnusableSettings } from "./edit-settings.ts";
import { hookCommand } from "./hook-command.ts";
import { findSettingsFault } from "./settings-fault.ts";
import { SettingsFile } from "./settings-file.ts";

/** Between the last moment of the hook and the agent's limit: starting, and taking back. */
const LIMIT_MARGIN_MS = 60_000;

export interface InstallPlace {
  readonly agent: Agent;
  /** The agent's settings. */
  readonly settings: string;
  /** Where our profile is. */
  readonly profile: string;
  /** Of Node, and of the command `countersign`. */
  readonly node: string;
  readonly script: string;
  /** Home of the user. */
  readonly home: string;
}

/** What the entry in the settings depends on. */
export type EntryOptions = Pick<Profile, "waitMs" | "environment" | "caFile">;

/** The entry of the hook, as agents read it. */
export function handlerFor(place: InstallPlace, options: EntryOptions): Record<string, unknown> {
  const { agent, ...paths } = place;
  const { waitMs, environment, caFile } = options;
  return {
    type: "command",
    command: hookCommand({ ...paths, agent: agent.name, environment, caFile }),
    // Seconds. The hook itself is done well before.
    timeout: Math.ceil((waitMs + GRACE_MS + LIMIT_MARGIN_MS) / 1000),
    statusMessage: "Waiting for approval",
    ...agent.entry,
  };
}

/**
 * @param wanted as install was told; it says nothing of files
 * @returns whether the settings have changed
 * @throws UnusableSettings, Error: nothing was written to the settings
 */
export function install(place: InstallPlace, wanted: Omit<Profile, "installed">): boolean {
  const { agent, profile } = place;
  const file = openSettings(place.settings);
  const fault = findSettingsFault(file.text ?? "", agent);
  if (fault !== undefined) {
    const what = `${file.path} was not changed. ${agent.title} ignores the whole file: ${fault}`;
    throw new UnusableSettings(`${what}. Fix that, then run install again.`);
  }
  const before = readProfile(profile)?.installed;
  if (before !== undefined && before.settings !== place.settings) {
    const advice = `uninstall ${agent.name} first`;
    throw new Error(`The hook is in ${before.settings}; ${advice}, or use another --profile.`);
  }
  const original = originalOf(file, agent, before);
  const edited = inserting(original ?? "", handlerFor(place, wanted), file.path);
  const installed: Installed = {
    settings: place.settings,
    sha256: digest(edited.text),
    inserted: edited.inserted,
    backup: original,
  };
  writeProfile(profile, { ...wanted, installed });
  file.replace(edited.text);
  return file.text !== edited.text;
}

/**
 * @param settings where to look when no profile knows
 * @returns what was found there
 * @throws UnusableSettings, Error
 */
export function uninstall(
  agent: Agent,
  profile: string,
  settings: string,
): { readonly settings: string; readonly isChanged: boolean } {
  const before = readProfile(profile)?.installed;
  const path = before?.settings ?? settings;
  const file = openSettings(path);
  const original = originalOf(file, agent, before);
  file.replace(original);
  rmSync(profile, { force: true });
  return { settings: path, isChanged: file.text !== original };
}

/** The settings without our hook: as they were before, where nobody else has written since. */
function originalOf(
  file: SettingsFile,
  agent: Agent,
  before: Installed | undefined,
): string | undefined {
  if (file.text === undefined) return undefined;
  if (before !== undefined && digest(file.text) === before.sha256) return before.backup;
  return reading(file.path, () => removeHandlers(file.text ?? "", agent.name, before?.inserted));
}

function openSettings(path: string): SettingsFile {
  const file = new SettingsFile(path);
  // Looked at before anything is made: what is refused leaves nothing behind.
  reading(file.path, () => ownHandlers(file.text || "{}", ""));
  return file;
}

function inserting(text: string, handler: object, path: string) {
  return reading(path, () => insertHandler(text, handler));
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UnusableSettings)) throw error;
    throw new UnusableSettings(`${path} is left as it is: ${error.message}.`);
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
