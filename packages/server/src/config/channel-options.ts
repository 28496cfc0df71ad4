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
    help: "Mail server like smtps://user:password@host or smtp://host:587; TLS is required.",
  },
  {
    name: "smtp_from",
    type: "text",
    default: undefined,
    value: "ADDRESS",
    group: "channels",
    help: "Sender address of mail; required with smtp_url.",
  },
  {
    name: "smtp_plaintext",
    type: "flag",
    default: "false",
    group: "channels",
    help: "Send mail without TLS although the host of smtp_url is not this machine.",
  },
] as const satisfies readonly Option[];
