/** The types of the line of a call. */

import type { Call } from "./call.ts";

export const LINE_KINDS = [
  "edit",
  "command",
  "sql",
  "payment",
  "mail",
  "kubernetes",
  "web",
  "call",
  "custom",
] as const;

export type LineKind = (typeof LINE_KINDS)[number];

export interface CallLine {
  readonly kind: LineKind;
  /** Text of the agent: show it with hostile characters marked. */
  readonly text: string;
  /** The parts that the text omits, such as "3 more arguments"; undefined: nothing. */
  readonly more?: string | undefined;
}

/** The text of a renderer before it is cut, and the outermost members that it contains. */
export interface Rendered {
  readonly kind: LineKind;
  readonly text: string;
  readonly used: readonly (string | undefined)[];
}

export type LineRenderer = (call: Call) => Rendered | undefined;
