/** Signals of texts in the arguments. Pure. */

import { visiblePieces } from "@countersign/protocol";
import type { Call } from "./call.ts";
import { word } from "./call-words.ts";
import { stringsIn } from "./leaves.ts";
import { type Signal, signal } from "./signal.ts";

export function confusableSignal({ tool, args }: Call): Signal | undefined {
  if (hasHostile(tool)) return signal("confusable_characters", textAbout("The name of the tool"));
  const found = stringsIn(args).find(({ key, value }) => hasHostile(value) || hasHostile(key));
  if (found === undefined) return undefined;
  return signal("confusable_characters", textAbout("A text"), found.path);
}

function textAbout(subject: string): string {
  return `${subject} has invisible or confusable characters.`;
}

/** Tabs and ends of lines are usual in texts of several lines. */
function hasHostile(text: string): boolean {
  if (/^[\t\n\r\x20-\x7e]*$/.test(text)) return false;
  return visiblePieces(text).some(
    ({ isUnseen, label, text: shown }) => label !== undefined && !(isUnseen && USUAL.has(shown)),
  );
}

/** As `visiblePieces` writes them. */
const USUAL = new Set(["\\u{0009}", "\\u{000D}"]);

export function productionSignal({ args }: Call): Signal | undefined {
  const found = stringsIn(args).find(({ value }) => /^(?:prod|production)$/i.test(value));
  if (found === undefined) return undefined;
  return signal("production_word", `A value is ${word(found.value)}.`, found.path);
}
