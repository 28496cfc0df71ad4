/**
 * Polls the updates of a Telegram bot, without an inbound address. Telegram holds a request until
 * an update arrives.
 *
 * @see https://core.telegram.org/bots/api#getupdates
 */

import type { TelegramTarget } from "../core/channel.ts";
import { OTHER_CHAT_ERROR } from "../core/chat-errors.ts";
import { readObject } from "./chat-answer.ts";
import type {
  ChatAddresses,
  ChatConnection,
  ChatConnector,
  ChatHandler,
  ChatResult,
} from "./chat-platform.ts";
import { failureOf } from "./telegram-errors.ts";

/** Time for which Telegram holds a request, and the time limit of the request. */
const HOLD_S = 25;
const REQUEST_MS = 35_000;

export function openTelegramPoll(
  target: TelegramTarget,
  connector: ChatConnector,
  handler: ChatHandler,
  addresses: ChatAddresses,
): ChatConnection {
  const ended = new AbortController();
  const closed = poll(target, connector, handler, addresses, ended.signal);
  return { closed, close: () => ended.abort() };
}

async function poll(
  { token }: TelegramTarget,
  { call }: ChatConnector,
  handler: ChatHandler,
  { apiUrl }: ChatAddresses,
  signal: AbortSignal,
): Promise<string> {
  const url = `${apiUrl}/bot${token}/getUpdates`;
  const headers = { "content-type": "application/json" };
  let offset: number | undefined;
  let isConnected = false;
  while (!signal.aborted) {
    const body = JSON.stringify({ ...QUERY, timeout: isConnected ? HOLD_S : 0, offset });
    const result = await call({ method: "POST", url, headers, body }, REQUEST_MS);
    // Without a confirmation, the next connection receives the update.
    if (signal.aborted) break;
    const updates = readUpdates(result);
    if (typeof updates === "string") return updates;
    if (!isConnected) handler.onConnected();
    isConnected = true;
    for (const update of updates) {
      // An update that fails has no effect. Its user can press the button again.
      await handler.onPayload(update).catch(() => undefined);
      offset = update.update_id + 1;
    }
  }
  return "closed";
}

/** One update at a time: several long messages would exceed the size limit of an answer. */
const QUERY = { limit: 1, allowed_updates: ["message", "callback_query"] };

interface Update {
  readonly update_id: number;
}

/** @returns the updates, or a word for the state of the connection */
function readUpdates(result: ChatResult | undefined): readonly Update[] | string {
  if (result === undefined) return "unreachable";
  const answer = readObject(result.body);
  if (answer?.ok !== true) {
    const { word } = failureOf(result.status, answer);
    return word === undefined || word === OTHER_CHAT_ERROR ? "unreachable" : word;
  }
  const updates = answer.result;
  if (!Array.isArray(updates) || !updates.every(isUpdate)) return "protocol";
  return updates;
}

function isUpdate(value: unknown): value is Update {
  return Number.isSafeInteger((value as Partial<Update> | null)?.update_id);
}
