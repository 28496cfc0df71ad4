/**
 * Decisions in chats: the events that a chat platform sends, and the replies of the server. A user
 * of a platform is identified by the ids of team and user, never by a name or an address.
 */

import type { ChannelKind, ChannelPost, ChannelTarget } from "./channel.ts";

/** The kinds of channels that update their messages, and where people can decide. */
export const CHAT_KINDS = ["slack_app", "telegram", "discord", "mattermost"] as const;

export type ChatKind = (typeof CHAT_KINDS)[number];

export type ChatTarget = Extract<ChannelTarget, { readonly kind: ChatKind }>;

/** Shown bytes of arguments in a message. An approval needs all of them. */
export const CHAT_ARGUMENTS_BYTES_MAX = 2_000;

/** Maximum characters of a note that a form accepts. */
export const CHAT_NOTE_CHARS_MAX = 2_000;

export function isChatKind(kind: ChannelKind): kind is ChatKind {
  return (CHAT_KINDS as readonly string[]).includes(kind);
}

/** A user of a chat platform. */
export interface ChatUser {
  /** The workspace, server or team. Empty on platforms without one. */
  readonly teamId: string;
  readonly userId: string;
  /** As the platform shows it. Only displayed, because users can change it. */
  readonly name: string;
}

/** The value of a button. The nonce belongs to one message. */
export interface ButtonValue {
  readonly nonce: string;
  /** Undefined on platforms with short values. */
  readonly requestId?: string | undefined;
  readonly argumentsSha256?: string | undefined;
}

interface UserEvent {
  /** Unique for this event. A second event with this id is a replay. */
  readonly id: string;
  readonly user: ChatUser;
  /** Id of the conversation. */
  readonly place: string;
  /** How the platform addresses a reply. Empty where the answer is the reply. */
  readonly replyTo: string;
}

interface VerdictEvent extends UserEvent {
  readonly verdict: "approve" | "deny";
  /** The message with the button. */
  readonly post: ChannelPost;
  readonly value: ButtonValue;
}

/** A user pressed a button of a message. */
export interface ButtonPressed extends VerdictEvent {
  readonly kind: "pressed";
}

/** A user sent the form for a note. */
export interface NoteSent extends VerdictEvent {
  readonly kind: "note_sent";
  /** Undefined: none. Never blank. */
  readonly note: string | undefined;
}

/** A user asked to link the account. */
export interface LinkWanted extends UserEvent {
  readonly kind: "link_wanted";
}

/** A user sent the code that links the account. */
export interface CodeSent extends UserEvent {
  readonly kind: "code_sent";
  readonly code: string;
}

/** An event of a chat platform, after its authentication. */
export type ChatEvent =
  | ButtonPressed
  | NoteSent
  | LinkWanted
  | CodeSent
  /** The platform checks the address. */
  | { readonly kind: "ping" }
  /** An event that the server does not use. */
  | { readonly kind: "ignored" };

/** The reply to an event. Only the user of the event sees it. */
export type ChatReply =
  | { readonly kind: "none" }
  /** The event had its effect; the form closes. */
  | { readonly kind: "done"; readonly text: string }
  /** The event had no effect. */
  | { readonly kind: "refused"; readonly text: string }
  /** Open a form for a note. */
  | {
      readonly kind: "note_form";
      readonly verdict: "approve" | "deny";
      readonly isRequired: boolean;
      /** The subject of the verdict: one line. */
      readonly title: string;
    }
  /** The account is not linked. Explains how to link it, and opens a form for the code. */
  | { readonly kind: "code_form"; readonly text: string };

/** How a user of a chat links the account. */
export const LINK_HELP =
  "Sign in to the console, open Settings, and create a code under Chat accounts. " +
  "Enter the code here.";

/** Identifies the user and the message of a decision in the audit log. */
export function chatOrigin(kind: ChatKind, { teamId, userId }: ChatUser, post: ChannelPost) {
  return `${kind}:${teamId}:${userId}:${post.place}:${post.id}`;
}

/** Characters of codes, without those that are easily confused. */
const CODE_CHARACTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/** Together 50 bits, which suffices for ten minutes and a few attempts. */
const CODE_CHARS = 10;

/** Validity of a code. */
export const CODE_MS = 10 * 60_000;

/** @param bytes at least ten random bytes */
export function writeCode(bytes: Uint8Array): string {
  const characters = [...bytes.slice(0, CODE_CHARS)];
  return characters.map((byte) => CODE_CHARACTERS[byte % CODE_CHARACTERS.length]).join("");
}

/** @returns the code as {@link writeCode} wrote it; undefined for other text */
export function readCode(text: string): string | undefined {
  const code = text.replace(/[\s-]/g, "").toUpperCase();
  const isCode = code.length === CODE_CHARS && [...code].every((c) => CODE_CHARACTERS.includes(c));
  return isCode ? code : undefined;
}
