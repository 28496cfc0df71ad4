/** Markup of chats with Markdown: Discord and Mattermost interpret nothing within code. */

import { escapeCodePoint, excerpt } from "@countersign/protocol";

/** Inline code. A backtick would end it. */
export function quoteMarkdown(visible: string): string {
  return `\`${visible.replace(/`/g, escapeCodePoint)}\``;
}

/** Escapes text for a block of code. Only three backticks or more end a block. */
export function escapeFences(visible: string): string {
  return visible.replace(/`{3,}/g, (run) => escapeCodePoint("`").repeat(run.length));
}

/** A block of code, without a language. */
export function codeBlock(escaped: string): string {
  return `\`\`\`\n${escaped}\n\`\`\``;
}

const REPLY_CHARS_MAX = 250;

/** A reply to a user. It may contain names. */
export function quoteReply(text: string): string {
  return quoteMarkdown(excerpt(text, REPLY_CHARS_MAX));
}
