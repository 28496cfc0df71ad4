/**
 * Options that all `countersign audit` commands share: the log, the public key, and checkpoints
 * kept in files.
 */

import { existsSync, readFileSync } from "node:fs";
import { CommandError, type CommandOptions, EXIT, usageError } from "@countersign/command-line";
import {
  type AuditDatabase,
  type Checkpoint,
  readCheckpoint,
  readSigned,
  readVerifier,
  toSecrets,
  toSettings,
  type Verifier,
  withAuditDatabase,
  withBackup,
} from "@countersign/server";
import { assertDatabase } from "./assert-database.ts";
import type { SettingsLine } from "./settings-line.ts";

export const WHICH_LOG: CommandOptions = {
  project: { type: "text", value: "PROJECT", help: "Project of the log. [default]" },
  server: { type: "flag", help: "Log of the whole server." },
};

/** @returns the name of the project; undefined for the log of the whole server */
export function projectOf(line: SettingsLine): string | undefined {
  const project = line.text("project");
  if (!line.flag("server")) return project ?? "default";
  if (project !== undefined) throw usageError("give --project or --server, not both");
  return undefined;
}

export function isLogNamed(line: SettingsLine): boolean {
  return line.flag("server") || line.text("project") !== undefined;
}

/** Opens what the settings name for reading, also beside a running server. */
export function withAudit<T>(
  line: SettingsLine,
  work: (database: AuditDatabase) => Promise<T>,
): Promise<T> {
  const config = line.config();
  assertDatabase(config);
  return withAuditDatabase(toSettings(config), toSecrets(config), work);
}

/**
 * Like {@link withAudit}, for a copy of `countersign backup`.
 *
 * @throws CommandError when the file does not exist
 */
export function withAuditOf(backup: string): typeof withAudit {
  if (!existsSync(backup)) throw usageError(`${backup} does not exist`);
  return (line, work) => {
    const config = line.config();
    return withBackup(backup, toSettings(config), toSecrets(config), work);
  };
}

/** The key itself, or the name of a file with it. */
export function verifierOf(line: SettingsLine): Verifier | undefined {
  const value = line.text("public-key");
  if (value === undefined) return undefined;
  const text = existsSync(value) ? readFileSync(value, "utf8") : value;
  const verifier = readVerifier(text.trim());
  if (verifier !== undefined) return verifier;
  throw usageError("--public-key must be the output of countersign audit key, or a file with it");
}

/** @throws CommandError when there is no such file, or no checkpoint in it */
export function olderOf(
  line: SettingsLine,
  option: "checkpoint" | "since" = "checkpoint",
): { note: string; checkpoint: Checkpoint } | undefined {
  const file = line.text(option);
  if (file === undefined) return undefined;
  if (!existsSync(file)) throw usageError(`${file} does not exist`);
  const note = readFileSync(file, "utf8");
  const checkpoint = readCheckpoint(note);
  if (checkpoint === undefined) throw usageError(`${file} does not contain a checkpoint`);
  return { note, checkpoint };
}

/** @returns the checkpoint that was kept, after its signature was verified */
export function olderBy(line: SettingsLine, verifier: Verifier): Checkpoint | undefined {
  const older = olderOf(line);
  return older && readSigned(older.note, verifier);
}

/** A time as people write it, or a number of ms since the epoch. */
export function timeOf(line: SettingsLine, name: string): number | undefined {
  const text = line.text(name);
  if (text === undefined) return undefined;
  const time = /^\d{10,15}$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isSafeInteger(time) && time >= 0) return time;
  throw usageError(`--${name} must be a time, such as 2026-01-31 or 2026-01-31T12:00:00Z`);
}

export function refuse(code: string, message: string): CommandError {
  return new CommandError(EXIT.refused, code, message);
}
