/**
 * A message in words, for kinds of channels that people read. Whatever an agent could choose is
 * written by the channel's `quote`; the rest is ours.
 */

import {
  escapeCodePoint,
  excerpt,
  formatTimestamp,
  hasConfusables,
  visibleCharacters,
} from "@countersign/protocol";
import type { CallMessage, ChannelMessage } from "./channel-message.ts";

export interface MessageText {
  /** One line, for subjects. */
  readonly title: string;
  /** Without the link. */
  readonly lines: readonly string[];
}

export interface TextStyle {
  /** Writes what strangers chose, of bounded length and visible, so that nothing obeys it. */
  readonly quote: (visible: string) => string;
  /** Of arguments, as they are shown, in UTF-8. */
  readonly argumentsBytesMax: number;
}

const NAME_CHARS_MAX = 80;
const NOTE_CHARS_MAX = 300;
const DECIDERS_CHARS_MAX = 200;

/** Of the arguments; the search takes 2 s for a text of 1 MB. */
const CONFUSABLE_CHARS_MAX = 20_000;
const CONFUSABLES =
  "Contains confusable characters. They are written as code points such as \\u{0430}.";

/** Plain text: a quote inside cannot end what is quoted, and nothing becomes a link. */
export function quotePlain(visible: string): string {
  return `"${breakLinks(visible).replace(/"/g, escapeCodePoint)}"`;
}

/** Mail programs and phones turn a text that resembles a URL into a link. */
export function breakLinks(visible: string): string {
  return visible.replace(/:(?=\/\/)|(?<=\bwww)\./gi, escapeCodePoint);
}

export function formatMessage(message: ChannelMessage, style: TextStyle): MessageText {
  switch (message.kind) {
    case "call":
      return wordsOfCall(message, style);
    case "digest": {
      const { requestIds, isMore, earliestDeadlineAt, now } = message;
      const left = formatTimeLeft(earliestDeadlineAt - now);
      const count = `${isMore ? "more than " : ""}${requestIds.length}`;
      const title = `${count} calls wait; earliest deadline in ${left}`;
      return { title, lines: [`${title} (${formatTimestamp(earliestDeadlineAt)}).`] };
    }
    case "test": {
      const name = style.quote(excerpt(message.channelName, NAME_CHARS_MAX));
      return {
        title: "Countersign test",
        lines: [`This is a test of the channel ${name}: no request is pending.`],
      };
    }
  }
}

function wordsOfCall(message: CallMessage, style: TextStyle): MessageText {
  const { quote } = style;
  const { tool, instance, now, deadlineAt, isReminder, note, because, argumentsText } = message;
  const left = formatTimeLeft(deadlineAt - now);
  const name = quote(excerpt(tool, NAME_CHARS_MAX));
  const head = argumentsText?.slice(0, CONFUSABLE_CHARS_MAX) ?? "";
  const texts = [tool, instance.name, note ?? "", head];
  const still = isReminder ? "still waits" : "waits";
  const title = `${isReminder ? "Reminder: " : ""}${name} ${still}: ${left} left`;
  const asker = quote(excerpt(instance.name, NAME_CHARS_MAX));
  const rule = quote(excerpt(because, NAME_CHARS_MAX));
  const why =
    note === undefined ? `rule ${rule}` : `${quote(excerpt(note, NOTE_CHARS_MAX))} (rule ${rule})`;
  return {
    title,
    lines: [
      `${name} of ${asker} ${still} for a decision.`,
      `Time left: ${left} (until ${formatTimestamp(deadlineAt)})`,
      ...(because === "no-policy" ? [] : [`Why: ${why}`]),
      `Needs: ${needsOf(message, quote)}`,
      ...(argumentsText === undefined ? [] : [shownArguments(argumentsText, style)]),
      ...(texts.some(hasConfusables) ? [CONFUSABLES] : []),
    ],
  };
}

function needsOf({ approvals }: CallMessage, quote: TextStyle["quote"]): string {
  const { needed, given, from } = approvals;
  const count = needed === 1 ? "1 approval" : `${needed} approvals`;
  const sets = from.map((set) => set.join(" or ")).join(", and of ");
  const whose = from.length === 0 ? "" : ` of ${quote(excerpt(sets, DECIDERS_CHARS_MAX))}`;
  return `${count}${whose}${given === 0 ? "" : `, ${given} given`}`;
}

/** Says plainly when not all is shown. */
function shownArguments(text: string, { quote, argumentsBytesMax }: TextStyle): string {
  const { shown, chars, of } = firstOf(text, argumentsBytesMax);
  if (chars === of) return `Arguments: ${quote(shown)}`;
  return `Arguments, only the first ${chars} of ${of} characters: ${quote(shown)}`;
}

/** As many characters as fit when they are made visible. */
function firstOf(text: string, bytesMax: number) {
  // Each unit has at least one byte; the rest of a long text cannot fit.
  const characters = visibleCharacters(text.slice(0, bytesMax));
  let shown = "";
  let bytes = 0;
  let chars = 0;
  for (const visible of characters) {
    bytes += Buffer.byteLength(visible);
    if (bytes > bytesMax) break;
    shown += visible;
    chars++;
  }
  return { shown, chars, of: [...text].length };
}

/** Rounded down, in two units at most: `3h 20m`, `45s`. */
export function formatTimeLeft(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  const [h, m] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
  if (h > 0) return m > 0 ? `${h}h ${m}m` : `${h}h`;
  if (m > 0) return m < 5 && s % 60 > 0 ? `${m}m ${s % 60}s` : `${m}m`;
  return `${s}s`;
}
