/**
 * The settings of notification channels, for the table in options.ts.
 */

import type { Option } from "./option.ts";

export const CHANNEL_OPTIONS = [
  {
    name: "smtp_url",
    type: "text",
    default: undefined,
    value: "URL",
    secret: "password",
    group: "channels",
    help: "URL of the mail server: smtps://user:password@host or smtp://host:587.",
  },
  {
    name: "smtp_from",
    type: "text",
    default: undefined,
    value: "ADDRESS",
    group: "channels",
    help: "Sender address of mail. Required with smtp_url.",
  },
  {
    name: "smtp_plaintext",
    type: "flag",
    default: "false",
    group: "channels",
    help: "Allow mail without TLS if the host of smtp_url is not loopback.",
  },
  {
    name: "slack_api_url",
    type: "text",
    default: "https://slack.com/api",
    value: "URL",
    group: "channels",
    help: "URL of the Slack Web API. Receives the bot tokens of slack_app channels.",
  },
  {
    name: "telegram_api_url",
    type: "text",
    default: "https://api.telegram.org",
    value: "URL",
    group: "channels",
    help: "URL of the Telegram Bot API. Receives the bot tokens of telegram channels.",
  },
  {
    name: "discord_api_url",
    type: "text",
    default: "https://discord.com/api/v10",
    value: "URL",
    group: "channels",
    help: "URL of the Discord API. Receives the bot tokens of discord channels.",
  },
] as const satisfies readonly Option[];
