/**
 * Errors of the Telegram Bot API.
 *
 * @see https://core.telegram.org/bots/api#making-requests
 * @see https://core.telegram.org/bots/api#responseparameters
 */

import { OTHER_CHAT_ERROR } from "../core/chat-errors.ts";
import { type ChatFailure, type readObject, toRetryMs } from "./chat-answer.ts";

/** @param answer undefined when it is not JSON: another server answered */
export function failureOf(status: number, answer: ReturnType<typeof readObject>): ChatFailure {
  const code = answer?.error_code;
  const word = typeof code === "number" ? wordOf(code, String(answer?.description)) : undefined;
  const parameters = answer?.parameters as { readonly retry_after?: unknown } | undefined;
  return { status, word, retryAfterMs: toRetryMs(parameters?.retry_after) };
}

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/chat not found/, "chat_not_found"],
  [/bot was blocked|user is deactivated|can't initiate conversation/, "bot_blocked"],
  [/bot was kicked|bot is not a member|group chat was deleted/, "bot_removed"],
  [/not enough rights|have no rights|need administrator rights/, "no_rights"],
  [/upgraded to a supergroup/, "chat_upgraded"],
  [/message to edit not found|MESSAGE_ID_INVALID/, "telegram_message_deleted"],
  [/message can't be edited/, "telegram_message_fixed"],
];

/** Telegram returns a status and a sentence, which has no stable code. */
function wordOf(code: number, description: string): string {
  if (code === 401 || code === 404) return "telegram_unauthorized";
  if (code === 409) return "conflict";
  if (code === 429) return "telegram_rate_limited";
  return WORDS.find(([pattern]) => pattern.test(description))?.[1] ?? OTHER_CHAT_ERROR;
}
