/** Texts of buttons and forms, the same on every platform. */

import type { ChatReply } from "../core/chat.ts";

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
