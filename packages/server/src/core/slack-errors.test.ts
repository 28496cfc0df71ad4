import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isChannelFault,
  isMessageGone,
  knownSlackError,
  OTHER_SLACK_ERROR,
  slackErrorText,
} from "./slack-errors.ts";

test("a word of Slack that is not in the table is not stored, and has a general text", () => {
  for (const word of ["xoxb-secret", "constructor", "", 7, undefined, null]) {
    assert.equal(knownSlackError(word), OTHER_SLACK_ERROR);
  }
  assert.equal(knownSlackError("is_archived"), "is_archived");
  assert.match(slackErrorText("is_archived"), /Unarchive it/);
  assert.equal(slackErrorText(OTHER_SLACK_ERROR), "Slack rejected the message.");
});

test("errors of a message end its update, and errors of a conversation concern the channel", () => {
  const kinds = (word: string) => [isMessageGone(word), isChannelFault(word)];
  assert.deepEqual(kinds("message_not_found"), [true, false]);
  assert.deepEqual(kinds("not_in_channel"), [false, true]);
  assert.deepEqual(kinds("token_revoked"), [false, false]);
  assert.deepEqual(kinds("constructor"), [false, false]);
});
