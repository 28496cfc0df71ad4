/** The type of a row in the table of settings; see options.ts. */

export type OptionType =
  | "text"
  /** A whole number, 0 or more. */
  | "integer"
  /** As in the contract: `90s`, `5m`, `24h`. Parsed to milliseconds. */
  | "duration"
  | "flag";

export interface Option {
  readonly name: string;
  readonly type: OptionType;
  /** As text; undefined without a default. */
  readonly default: string | undefined;
  /** Placeholder of the value in `--help`. */
  readonly value?: string;
  readonly help: string;
  /**
   * True: rejected on the command line, where other users of the machine can read it, and never
   * repeated in a message. `password`: only for a URL that contains a password.
   */
  readonly secret?: true | "password";
  readonly group:
    | "server"
    | "limits"
    | "sign-in"
    | "workloads"
    | "webhooks"
    | "channels"
    | "audit"
    | "client";
}
