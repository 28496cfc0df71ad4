/** Errors of the files of a directory, with their places. */

import { CommandError, EXIT, type Terminal } from "@countersign/command-line";
import type { ProblemFinding } from "@countersign/protocol";
import { visibleText } from "../visible-text.ts";

/** A place in a file. Lines and columns count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface FileFinding extends ProblemFinding {
  readonly file: string;
}

/** @param path of the member, like `agents[0]`; empty for the document */
export function findingAt(place: Place, path: string, message: string): FileFinding {
  return { file: place.file, line: place.line, column: place.column, path, message };
}

/**
 * Prints all errors before the command ends with them.
 *
 * @throws CommandError if there is an error
 */
export function assertNoFindings(
  directory: string,
  findings: readonly FileFinding[],
  terminal: Terminal,
  isJson: boolean,
): void {
  if (findings.length === 0) return;
  for (const { file, line, column, path, message } of isJson ? [] : findings) {
    const member = path === "" ? "" : ` (${path})`;
    terminal.note(visibleText(`${file}:${line}:${column}: ${message}${member}`));
  }
  const count = findings.length === 1 ? "1 error" : `${findings.length} errors`;
  throw new CommandError(EXIT.refused, "files_invalid", `${directory} has ${count}`, findings);
}
