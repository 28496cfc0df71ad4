/**
 * What the table of settings says about each; see options.ts.
 */

export type OptionType =
  | "text"
  /** A whole number, 0 or more. */
  | "integer"
  /** As in the contract: `90s`, `5m`, `24h`; a number of milliseconds once read. */
  | "duration"
  | "flag";

export interface Option {
  readonly name: string;
  readonly type: OptionType;
  /** As a person would write it; undefined when there is none. */
  readonly default: string | undefined;
  /** What the value is called in `--help`. */
  readonly value?: string;
  readonly help: string;
  /**
   * Not to be given on a command line, where other users of the machine can read it; and never
   * repeated in a message. `password`: only when it is a URL that holds one.
   */
  readonly secret?: true | "password";
  readonly group: "server" | "limits" | "sign-in" | "webhooks" | "channels" | "client";
}
