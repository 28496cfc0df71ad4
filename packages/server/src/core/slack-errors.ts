/**
 * The errors of the Slack Web API that a channel can cause, with the fix. Slack returns other words
 * too, which the server does not store or display.
 *
 * @see https://docs.slack.dev/reference/methods/chat.postMessage
 */

const CHANNEL = {
  channel_not_found: "Slack has no such channel for this app. Check slack_channel, invite the app.",
  not_in_channel: "The app is not a member of the Slack channel. Invite it with /invite.",
  is_archived: "The Slack channel is archived. Unarchive it or set another slack_channel.",
  restricted_action: "A setting of the Slack workspace does not permit the app to post there.",
};

const MESSAGE = {
  message_not_found: "A message was deleted in Slack, so it was not updated.",
  cant_update_message: "The app may not change the message, so it was not updated.",
  edit_window_closed: "Slack does not permit changes of the message any more.",
};

const OTHERS = {
  invalid_auth: "Slack does not accept the bot token. Set the current token of the app.",
  not_authed: "Slack does not accept the bot token. Set the current token of the app.",
  account_inactive: "The app was removed from the workspace. Install it and set its new token.",
  token_revoked: "The bot token was revoked. Install the app again and set its new token.",
  token_expired: "The bot token has expired. Turn off token rotation of the app, set a new token.",
  missing_scope: "The app lacks the scope chat:write. Add it and install the app again.",
  ratelimited: "Slack limits the rate of the app. The server retries later.",
};

const TEXTS: Readonly<Record<string, string>> = { ...CHANNEL, ...MESSAGE, ...OTHERS };

/** For words that are not in the table. */
export const OTHER_SLACK_ERROR = "other";

/** @returns the word if it is in the table */
export function knownSlackError(word: unknown): string {
  return typeof word === "string" && Object.hasOwn(TEXTS, word) ? word : OTHER_SLACK_ERROR;
}

export function slackErrorText(word: string): string {
  return TEXTS[word] ?? "Slack rejected the message.";
}

/** True when a later update of the message cannot succeed. */
export function isMessageGone(word: string): boolean {
  return Object.hasOwn(MESSAGE, word);
}

/** True when the conversation does not accept messages of the app. */
export function isChannelFault(word: string): boolean {
  return Object.hasOwn(CHANNEL, word);
}
