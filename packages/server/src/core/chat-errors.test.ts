import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chatErrorText,
  DISCORD_ERRORS,
  isConversationError,
  isMessageError,
  MATTERMOST_ERRORS,
  OTHER_CHAT_ERROR,
  TELEGRAM_ERRORS,
} from "./chat-errors.ts";
import { knownSlackError, OTHER_SLACK_ERROR } from "./slack-errors.ts";

const TABLES = [TELEGRAM_ERRORS, DISCORD_ERRORS, MATTERMOST_ERRORS];

test("each word belongs to one platform, and has a text with its fix", () => {
  const words = TABLES.flatMap((table) =>
    Object.values(table).flatMap((texts) => Object.keys(texts)),
  );
  assert.equal(new Set(words).size, words.length);
  for (const word of words) {
    assert.equal(knownSlackError(word), OTHER_SLACK_ERROR, word);
    assert.match(chatErrorText(word), /(Telegram|Discord|Mattermost).*\.$/);
  }
});

test("an unknown word has a general text", () => {
  assert.match(chatErrorText(OTHER_CHAT_ERROR), /^The chat rejected the message\./);
  assert.equal(chatErrorText(OTHER_SLACK_ERROR), "Slack rejected the message.");
});

test("errors of a message end its update, and errors of a conversation concern the channel", () => {
  const kinds = (word: string) => [
    isMessageError(TELEGRAM_ERRORS, word),
    isConversationError(TELEGRAM_ERRORS, word),
  ];
  assert.deepEqual(kinds("telegram_message_deleted"), [true, false]);
  assert.deepEqual(kinds("bot_removed"), [false, true]);
  assert.deepEqual(kinds("telegram_unauthorized"), [false, false]);
  assert.deepEqual(kinds("constructor"), [false, false]);
});
