/** Texts of buttons and forms, and the limits of texts, the same on every platform. */

import { CHAT_ARGUMENTS_BYTES_MAX, type ChatReply } from "../core/chat.ts";
import { excerptArguments } from "../core/excerpt-arguments.ts";
import type { CallMessage } from "./channel-message.ts";

export const LABELS = {
  approve: "Approve",
  deny: "Deny",
  open: "Open in Countersign",
  link: "Link account",
  note: "Note",
  code: "Code",
} as const;

/** The title of the form for a note. */
export function titleOf({ verdict }: Pick<Extract<ChatReply, { kind: "note_form" }>, "verdict">) {
  return verdict === "approve" ? "Approve the call" : "Deny the call";
}

/** The explanation beside the field of a note. */
export function noteHint({
  verdict,
  isRequired,
}: Pick<Extract<ChatReply, { kind: "note_form" }>, "verdict" | "isRequired">): string {
  if (isRequired) return "The rule requires a note.";
  return verdict === "deny" ? "Optional. The agent receives it." : "Optional.";
}

/** Truncated markup could change its meaning. */
export const TOO_LONG_LINE = "This line is too long. Open the request to read it.";

/**
 * Replaces the longest lines until all of them and their line feeds fit.
 *
 * @param lengthOf the characters of a line that count
 */
export function fitLines(
  lines: readonly string[],
  charsMax: number,
  lengthOf: (line: string) => number = (line) => line.length,
): string[] {
  const fitted = [...lines];
  const total = () => fitted.reduce((sum, line) => sum + lengthOf(line) + 1, 0);
  while (total() > charsMax) {
    const longest = Math.max(...fitted.map(lengthOf));
    if (longest <= TOO_LONG_LINE.length) break;
    fitted[fitted.findIndex((line) => lengthOf(line) === longest)] = TOO_LONG_LINE;
  }
  return fitted;
}

/** The arguments of a call as a platform shows them. */
export interface FittedArguments {
  readonly label: string;
  /** In the markup of the platform. */
  readonly shown: string;
  /** An approval needs all of them. */
  readonly isWhole: boolean;
}

/**
 * Shortens arguments until their markup fits.
 *
 * @param toMarkup writes visible text in the markup of the platform
 * @returns undefined when the channel does not show arguments
 */
export function fitArguments(
  { argumentsText }: Pick<CallMessage, "argumentsText">,
  toMarkup: (visible: string) => string,
  charsMax: number,
): FittedArguments | undefined {
  if (argumentsText === undefined) return undefined;
  for (let bytes = CHAT_ARGUMENTS_BYTES_MAX; ; bytes = Math.floor(bytes / 2)) {
    const { label, shown, isWhole } = excerptArguments(argumentsText, bytes);
    const escaped = toMarkup(shown);
    if (escaped.length <= charsMax) return { label, shown: escaped, isWhole };
  }
}
