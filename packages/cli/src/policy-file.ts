/**
 * Policy files on this machine: reads them, checks them without a server, and formats their faults
 * for editors and build servers.
 */

import { readFileSync } from "node:fs";
import { CommandError, type CommandOptions, EXIT, type Terminal } from "@countersign/command-line";
import type { ProblemFinding } from "@countersign/protocol";
import type { PolicyPath, ShownPolicy } from "@countersign/review-api";
import { type Examined, examinePolicy } from "@countersign/server/policy/examine";
import type { SettingsLine } from "./settings-line.ts";
import { visibleText } from "./visible-text.ts";

/** Every command about policies takes it. */
export const FLOOR: CommandOptions = {
  floor: { type: "flag", help: "Use the baseline policy of the server." },
};

export function scopeOf(line: SettingsLine): PolicyPath {
  return line.flag("floor") ? "floor" : "policy";
}

/** Undefined when no version is published. */
export function sourceOf(policy: ShownPolicy): string | undefined {
  return "source" in policy ? policy.source : undefined;
}

/** @throws CommandError when it cannot be read */
export function readPolicyFile(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const reason = code === "ENOENT" ? "the file does not exist" : `cannot be read (${code})`;
    throw new CommandError(EXIT.refused, "no_file", `${file}: ${reason}`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CommandError(EXIT.refused, "no_text", `${file}: not UTF-8 text`);
  }
}

/** Everything that can be said without knowing who is in which group. */
export function examineFile(source: string, isFloor: boolean): Examined {
  return examinePolicy({ kind: isFloor ? "floor" : "project" }, source);
}

/** `FILE:LINE:COLUMN: message`, a line for each. */
export function renderFindings(file: string, found: readonly ProblemFinding[], kind = ""): string {
  return found
    .map(({ line, column, path, message }) => {
      const place = path === "" ? "" : ` (${path})`;
      return visibleText(`${file}:${line}:${column}: ${kind}${message}${place}`);
    })
    .join("\n");
}

/**
 * Prints the errors of a file before the command ends with them.
 *
 * @throws CommandError always
 */
export function refuseFile(
  file: string,
  found: readonly ProblemFinding[],
  terminal: Terminal,
  isJson: boolean,
): never {
  if (!isJson) terminal.note(renderFindings(file, found));
  const count = found.length === 1 ? "1 error" : `${found.length} errors`;
  throw new CommandError(EXIT.refused, "policy_invalid", `${file} has ${count}`, found);
}

/**
 * An error that the server finds in the file is printed with its place.
 *
 * @throws CommandError
 */
export async function withPlaces<T>(
  file: string,
  terminal: Terminal,
  isJson: boolean,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isFaulty = error instanceof CommandError && error.code === "policy_invalid";
    if (!isFaulty || error.findings === undefined || error.findings.length === 0) throw error;
    return refuseFile(file, error.findings, terminal, isJson);
  }
}
