/**
 * How a command ends. Scripts may rely on these numbers.
 */

export const EXIT = {
  done: 0,
  /** Understood and refused: a wrong state, a missing right, unusable data. */
  refused: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
  /** The server did not answer, or cannot at the moment. */
  unreachable: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** One fault of a file, as a server or a parser told it. */
export interface Finding {
  readonly line: number;
  readonly column: number;
  readonly path: string;
  readonly message: string;
}

/** Ends a command with one clear line for people, or the same as JSON. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: ExitCode;
  /** Machine-readable reason: an error code of the server, or one of ours. */
  readonly code: string;
  /** Every fault, where there can be several. */
  readonly findings: readonly Finding[] | undefined;

  constructor(
    exitCode: ExitCode,
    code: string,
    message: string,
    findings?: readonly Finding[] | undefined,
  ) {
    super(message);
    this.exitCode = exitCode;
    this.code = code;
    this.findings = findings;
  }
}

export function usageError(message: string): CommandError {
  return new CommandError(EXIT.usage, "usage", message);
}
