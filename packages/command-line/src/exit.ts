/**
 * Exit codes and errors of commands. Scripts may depend on the numbers.
 */

import type { ProblemFinding } from "@countersign/protocol";

export const EXIT = {
  done: 0,
  /** The command was rejected: wrong state, missing permission, unusable data. */
  refused: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
  /** The server did not respond, or it is not available. */
  unreachable: 3,
  /** A comparison found differences. It is not 2, which would hide a wrong command line. */
  differs: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Stops a command with one message, as text or as JSON. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: ExitCode;
  /** Machine-readable reason: an error code of the server or of the command. */
  readonly code: string;
  /** All errors in a file. */
  readonly findings: readonly ProblemFinding[] | undefined;

  constructor(
    exitCode: ExitCode,
    code: string,
    message: string,
    findings?: readonly ProblemFinding[] | undefined,
  ) {
    super(message);
    this.exitCode = exitCode;
    this.code = code;
    this.findings = findings;
  }
}

/** Arguments that the table of options does not allow. The help of the command explains them. */
export class ArgumentError extends CommandError {
  constructor(message: string) {
    super(EXIT.usage, "usage", message);
  }
}

export function usageError(message: string): CommandError {
  return new CommandError(EXIT.usage, "usage", message);
}
