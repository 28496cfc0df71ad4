/**
 * Formats a message as text, for channels that people read. The channel's `quote` escapes all text
 * that an agent could choose.
 */

import { escapeCodePoint, excerpt, formatTimestamp, hasConfusables } from "@countersign/protocol";
import { kindOfActor } from "../core/actor.ts";
import { excerptArguments } from "../core/excerpt-arguments.ts";
import type { CallMessage, ChannelMessage, ResolvedMessage } from "./channel-message.ts";

export interface MessageText {
  /** One line, for subjects. */
  readonly title: string;
  /** Body lines, without the link. */
  readonly lines: readonly string[];
}

export interface TextStyle {
  /** Escapes untrusted text, which is bounded and visible, so that it cannot act as markup. */
  readonly quote: (visible: string) => string;
  /** Maximum displayed bytes of arguments, in UTF-8. Undefined: the lines omit them. */
  readonly argumentsBytesMax: number | undefined;
}

const NAME_CHARS_MAX = 80;
const SERVER_CHARS_MAX = 40;
const NOTE_CHARS_MAX = 300;
const DECIDERS_CHARS_MAX = 200;

/** Maximum searched characters of arguments. The search takes 2 s for 1 MB. */
const CONFUSABLE_CHARS_MAX = 20_000;
const CONFUSABLES =
  "Contains confusable characters. They are written as code points such as \\u{0430}.";

/** Plain text: escapes quotes and breaks links. */
export function quotePlain(visible: string): string {
  return `"${breakLinks(visible).replace(/"/g, escapeCodePoint)}"`;
}

/** Mail programs and phones turn text that resembles a URL into a link. */
export function breakLinks(visible: string): string {
  return visible.replace(/:(?=\/\/)|(?<=\bwww)\./gi, escapeCodePoint);
}

export function formatMessage(message: ChannelMessage, style: TextStyle): MessageText {
  switch (message.kind) {
    case "call":
      return wordsOfCall(message, style);
    case "decision":
      return formatResolved(message, style);
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
  const { instance, now, deadlineAt, isReminder, note, because } = message;
  const { isEscalation, escalatedTo } = message;
  const left = formatTimeLeft(deadlineAt - now);
  const name = nameOf(message, quote);
  const still = isReminder ? "still waits" : "waits";
  const groups = escalatedTo.map((to) => to.replace(/^group:/, "")).join(", ");
  const escalated = `Escalated to ${quote(excerpt(groups, DECIDERS_CHARS_MAX))}`;
  const prefix = isReminder ? "Reminder: " : isEscalation ? `${escalated}: ` : "";
  const title = `${prefix}${name} ${still}: ${left} left`;
  const asker = quote(excerpt(instance.name, NAME_CHARS_MAX));
  const rule = quote(excerpt(because, NAME_CHARS_MAX));
  const source =
    because === "tool_definition_change" ? "the definition of the tool changed" : `rule ${rule}`;
  const why = note === undefined ? source : `${quote(excerpt(note, NOTE_CHARS_MAX))} (${source})`;
  return {
    title,
    lines: [
      `${name} of ${asker} ${still} for a decision.`,
      `Time left: ${left} (until ${formatTimestamp(deadlineAt)})`,
      ...(because === "no-policy" ? [] : [`Why: ${why}`]),
      `Needs: ${needsOf(message, quote)}`,
      ...(escalatedTo.length === 0 ? [] : [`${escalated}.`]),
      ...shownArguments(message, style),
      ...warningsOf(message),
    ],
  };
}

const OUTCOMES: Readonly<Record<ResolvedMessage["outcome"]["status"], string>> = {
  approved: "Approved",
  denied: "Denied",
  expired: "Expired",
  cancelled: "Cancelled",
};

const ACTORS: Readonly<Record<string, string>> = {
  instance: " by the agent",
  grant: " by a grant",
  freeze: " by a freeze",
  reviewer: " by a reviewer",
};

/** The outcome, the decider, the time and the note of a resolved call, and the call. */
export function formatResolved(
  message: Pick<ResolvedMessage, "call" | "outcome">,
  style: TextStyle,
): MessageText {
  const { quote } = style;
  const { call, outcome } = message;
  const { status, decidedAt, actor, decider, note } = outcome;
  const by =
    decider === undefined
      ? (ACTORS[kindOfActor(actor)] ?? "")
      : ` by ${quote(excerpt(decider, NAME_CHARS_MAX))}`;
  const name = nameOf(call, quote);
  const done = OUTCOMES[status];
  const asker = quote(excerpt(call.instance.name, NAME_CHARS_MAX));
  return {
    title: `${done}${by}: ${name}`,
    lines: [
      `${done}${by} at ${formatTimestamp(decidedAt)}`,
      ...(note === undefined ? [] : [`Note: ${quote(excerpt(note, NOTE_CHARS_MAX))}`]),
      `Call: ${name} of ${asker}`,
      ...shownArguments(call, style),
      ...warningsOf(call),
    ],
  };
}

function warningsOf({ tool, server, instance, note, argumentsText }: CallMessage): string[] {
  const head = argumentsText?.slice(0, CONFUSABLE_CHARS_MAX) ?? "";
  const texts = [tool, server ?? "", instance.name, note ?? "", head];
  return texts.some(hasConfusables) ? [CONFUSABLES] : [];
}

/** As the console and the command line: the tool, and the server that it belongs to. */
function nameOf({ tool, server }: CallMessage, quote: TextStyle["quote"]): string {
  const name = quote(excerpt(tool, NAME_CHARS_MAX));
  return server === undefined ? name : `${name} on ${quote(excerpt(server, SERVER_CHARS_MAX))}`;
}

function needsOf({ approvals }: CallMessage, quote: TextStyle["quote"]): string {
  const { needed, given, from, confirm, isNoteRequired } = approvals;
  const count = needed === 1 ? "1 approval" : `${needed} approvals`;
  const sets = from.map((set) => set.join(" or ")).join(", and of ");
  const whose = from.length === 0 ? "" : ` of ${quote(excerpt(sets, DECIDERS_CHARS_MAX))}`;
  const steps = [CONFIRMATIONS[confirm], isNoteRequired ? "a note" : undefined];
  const confirmation = steps.filter((step) => step !== undefined).join(" and ");
  return [
    count,
    whose,
    confirmation === "" ? "" : ` with ${confirmation}`,
    given === 0 ? "" : `, ${given} given`,
  ].join("");
}

const CONFIRMATIONS: Readonly<Record<CallMessage["approvals"]["confirm"], string | undefined>> = {
  click: undefined,
  match: "a matching number",
  passkey: "a passkey",
  type: "a typed text",
};

/** Empty where arguments are not shown. */
function shownArguments(
  { argumentsText }: CallMessage,
  { quote, argumentsBytesMax }: TextStyle,
): string[] {
  if (argumentsText === undefined || argumentsBytesMax === undefined) return [];
  const { label, shown } = excerptArguments(argumentsText, argumentsBytesMax);
  return [`${label}: ${quote(shown)}`];
}

/** Rounds down to at most two units: `3h 20m`, `45s`. */
export function formatTimeLeft(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  const [h, m] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
  if (h > 0) return m > 0 ? `${h}h ${m}m` : `${h}h`;
  if (m > 0) return m < 5 && s % 60 > 0 ? `${m}m ${s % 60}s` : `${m}m`;
  return `${s}s`;
}
