/**
 * The errors of Telegram, Discord and Mattermost that a channel can cause, with the fix. These
 * words are those of the server: the platforms return numbers, sentences or longer identifiers. The
 * server stores and displays no text of a platform.
 *
 * @see slack-errors.ts for the words of Slack
 */

import { slackErrorText } from "./slack-errors.ts";

/** Texts by word. */
type Texts = Readonly<Record<string, string>>;

export interface ChatErrors {
  /** The conversation does not accept messages of the bot. */
  readonly conversation: Texts;
  /** A later update of the message cannot succeed. */
  readonly message: Texts;
  readonly others: Texts;
}

export const TELEGRAM_ERRORS = {
  conversation: {
    chat_not_found: "Telegram has no such chat for this bot. Check conversation, add the bot.",
    bot_removed: "The bot was removed from the Telegram chat. Add it again.",
    bot_blocked: "The user blocked the Telegram bot. Unblock it, or set another conversation.",
    no_rights: "The bot may not write in the Telegram chat. Permit it to send messages.",
    chat_upgraded: "The Telegram group became a supergroup. Set conversation to its new id.",
  },
  message: {
    telegram_message_deleted: "A message was deleted in Telegram, so it was not updated.",
    telegram_message_fixed: "Telegram does not permit changes of the message any more.",
  },
  others: {
    telegram_unauthorized: "Telegram does not accept the bot token. Set the token of @BotFather.",
    conflict: "Another program receives the updates of the Telegram bot. Use a bot of its own.",
    telegram_rate_limited: "Telegram limits the rate of the bot. The server retries later.",
  },
} as const satisfies ChatErrors;

export const DISCORD_ERRORS = {
  conversation: {
    unknown_channel: "Discord has no such channel. Check conversation.",
    missing_access: "The bot cannot access the Discord channel. Permit it to view the channel.",
    missing_permissions: "The bot may not write in the Discord channel. Permit Send Messages.",
    thread_locked: "The Discord thread is archived or locked. Set another conversation.",
  },
  message: {
    unknown_message: "A message was deleted in Discord, so it was not updated.",
    foreign_message: "The message belongs to another Discord bot, so it was not updated.",
  },
  others: {
    discord_unauthorized: "Discord does not accept the bot token. Reset it and set the new token.",
    discord_rate_limited: "Discord limits the rate of the bot. The server retries later.",
  },
} as const satisfies ChatErrors;

export const MATTERMOST_ERRORS = {
  conversation: {
    not_permitted: "The bot may not post in the Mattermost channel. Add it to the channel.",
    no_such_channel: "Mattermost has no such channel. Check conversation.",
    channel_archived: "The Mattermost channel is archived. Unarchive it or set another one.",
  },
  message: {
    not_editable: "The message was deleted in Mattermost, or the bot may not edit it any more.",
  },
  others: {
    mattermost_unauthorized: "Mattermost does not accept the bot token. Set a new token.",
    mattermost_rate_limited: "Mattermost limits the rate of the bot. The server retries later.",
  },
} as const satisfies ChatErrors;

const TABLES: readonly ChatErrors[] = [TELEGRAM_ERRORS, DISCORD_ERRORS, MATTERMOST_ERRORS];

const TEXTS: Texts = Object.assign(
  {},
  ...TABLES.flatMap(({ conversation, message, others }) => [conversation, message, others]),
);

/** For errors that are not in a table. */
export const OTHER_CHAT_ERROR = "rejected_by_chat";

const OTHER_TEXT = "The chat rejected the message. Check the settings of the bot.";

/** The text of a word of any platform. */
export function chatErrorText(word: string): string {
  if (word === OTHER_CHAT_ERROR) return OTHER_TEXT;
  return Object.hasOwn(TEXTS, word) ? (TEXTS[word] ?? "") : slackErrorText(word);
}

export function isMessageError({ message }: ChatErrors, word: string): boolean {
  return Object.hasOwn(message, word);
}

export function isConversationError({ conversation }: ChatErrors, word: string): boolean {
  return Object.hasOwn(conversation, word);
}
