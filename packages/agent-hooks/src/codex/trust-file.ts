/**
 * Writes Codex's record of the trusted hook into `config.toml`, and removes it again.
 */

import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Agent } from "@countersign/agents";
import { findHooks } from "../install/agent-settings.ts";
import { SettingsFile } from "../install/settings-file.ts";
import type { InstalledTrust } from "../profile/profile.ts";
import { parseConfig, UnusableConfig } from "./config.ts";
import { applyEdit, type TrustEdit, trustEdit, trustHash, trustKey, withoutEdit } from "./trust.ts";

export interface TrustPlan {
  /** Undefined: the user has written the record. */
  readonly trust: InstalledTrust | undefined;
  write(): void;
}

/** The configuration beside a file with hooks. */
export function configFile(hooks: string): string {
  return join(dirname(hooks), "config.toml");
}

/**
 * The path of the hooks in the keys of Codex: it resolves links in `CODEX_HOME`, and no other ones.
 */
export function keyPath(hooks: string, { CODEX_HOME }: NodeJS.ProcessEnv): string {
  return CODEX_HOME ? realKeyPath(hooks) : hooks;
}

export function realKeyPath(hooks: string): string {
  try {
    return join(realpathSync(dirname(hooks)), basename(hooks));
  } catch {
    return hooks;
  }
}

/** @throws UnusableConfig, Error: the record cannot be written */
export function assertTrustable(path: string): void {
  const { path: real, text = "" } = new SettingsFile(configFile(path));
  reading(real, () => parseConfig(text));
}

/**
 * @param hooks text of the file with the hooks, after the hook was added
 * @param path of the file with the hooks, as Codex names it
 * @param before the record of an earlier install
 * @throws UnusableConfig, Error
 */
export function planTrust(
  agent: Agent,
  hooks: string,
  path: string,
  before: InstalledTrust | undefined,
): TrustPlan {
  const file = new SettingsFile(configFile(path));
  const [handler] = findHooks(agent, hooks).own;
  const hash = handler && trustHash(handler);
  if (handler === undefined || hash === undefined) throw new Error("The hook has no trust record.");
  const key = trustKey(path, handler);
  const isSame = before?.key === key;
  const text = (isSame ? file.text : originalOf(file, before)) ?? file.text ?? "";
  const edit = reading(file.path, () => trustEdit(text, key, hash));
  const edited = edit === undefined ? text : applyEdit(text, edit);
  const written = mergeEdits(isSame ? before : undefined, edit);
  const isNew = before?.isNew ?? file.text === undefined;
  return {
    trust: written && { ...written, file: configFile(path), key, isNew },
    write: () => file.replace(edited === "" ? file.text : edited),
  };
}

/** One edit with the effect of both. */
function mergeEdits(
  first: TrustEdit | undefined,
  second: TrustEdit | undefined,
): TrustEdit | undefined {
  if (first === undefined || second === undefined) return second ?? first;
  if (second.before === "") return second;
  const { before, after } = first;
  return { before, after: after.replace(second.before, () => second.after) };
}

/**
 * Removes the record that install wrote.
 *
 * @returns false if others changed the record, so that it stays
 * @throws Error
 */
export function removeTrust(trust: InstalledTrust): boolean {
  const file = new SettingsFile(trust.file);
  if (file.text === undefined) return true;
  const original = originalOf(file, trust);
  if (original === undefined) return false;
  file.replace(original === "" && trust.isNew ? undefined : original);
  return true;
}

/** The text without the record of an earlier install, if it can be removed. */
function originalOf(
  { text }: SettingsFile,
  before: InstalledTrust | undefined,
): string | undefined {
  if (text === undefined || before === undefined) return text;
  return withoutEdit(text, before.key, before);
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UnusableConfig)) throw error;
    const advice = "Fix the file, or install with --no-trust.";
    throw new UnusableConfig(`${path} was not changed: ${error.message}. ${advice}`);
  }
}
