/** Faults of literal operands of a function that are known at load. */

import type { Expression } from "./expression.ts";
import { ZONED_FUNCTIONS } from "./functions.ts";
import { readGlob } from "./glob.ts";
import { isWithin } from "./paths.ts";
import { readZone } from "./times.ts";

export interface OperandFault {
  /** Offset as in the expression; undefined: the complete call. */
  readonly at: number | undefined;
  readonly message: string;
}

/** @param second the operand after the text or time */
export function operandFault(
  name: string,
  second: Expression | undefined,
): OperandFault | undefined {
  const text = second?.kind === "literal" ? second.value : undefined;
  if (typeof text !== "string") {
    const message = 'the time zone must be written out, as in hour(now, "Europe/Berlin")';
    return ZONED_FUNCTIONS.has(name) ? { at: undefined, message } : undefined;
  }
  const message = faultOf(name, text);
  return message === undefined ? undefined : { at: second?.at, message };
}

function faultOf(name: string, text: string): string | undefined {
  if (ZONED_FUNCTIONS.has(name) && readZone(text) === undefined) {
    return `unknown time zone "${text.slice(0, 60)}"`;
  }
  if (name === "glob" && readGlob(text) === undefined) {
    return "the pattern is too long or ends in a lone backslash";
  }
  if (name === "within" && isWithin("", text) === undefined) {
    return "the folder is empty or contains ..";
  }
  return undefined;
}
