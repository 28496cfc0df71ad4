import {
  Fields,
  hasInvisible,
  JsonArray,
  type JsonValue,
  parseDuration,
} from "@countersign/protocol";
import { CHANNEL_KINDS } from "../../core/channel.ts";
import type { ChannelOrder, TargetOrder } from "../../operations/channels/createChannel.ts";
import type { ChannelChange } from "../../operations/channels/updateChannel.ts";

const SHARED = [
  "url",
  "signing_secret",
  "token",
  "to",
  "groups",
  "include_arguments",
  "remind_before",
];

const NAME_CHARS_MAX = 64;
const REMIND_MS_MAX = 24 * 3_600_000;

/**
 * Reads the body that makes a channel.
 *
 * @throws Problem `invalid_request` naming the first wrong field
 */
export function parseChannel(body: JsonValue): ChannelOrder {
  const fields = new Fields(body, ["name", "kind", ...SHARED]);
  return {
    name: parseName(fields),
    kind: parseKind(fields),
    ...parseTarget(fields),
    groups: parseTexts(fields, "groups") ?? [],
    includesArguments: parseFlag(fields, "include_arguments") ?? false,
    remindMs: parseRemind(fields) ?? null,
  };
}

/** The same for a body that changes one. */
export function parseChannelChange(body: JsonValue): ChannelChange {
  const fields = new Fields(body, ["disabled", ...SHARED]);
  return {
    ...parseTarget(fields),
    groups: parseTexts(fields, "groups"),
    includesArguments: parseFlag(fields, "include_arguments"),
    remindMs: parseRemind(fields),
    isDisabled: parseFlag(fields, "disabled"),
  };
}

function parseName(fields: Fields): string {
  const name = fields.required("name", fields.text("name", 1));
  if (name.length > NAME_CHARS_MAX || hasInvisible(name) || name.trim() !== name) {
    throw fields.invalid("name", `must be 1 to ${NAME_CHARS_MAX} visible characters`);
  }
  return name;
}

function parseKind(fields: Fields): ChannelOrder["kind"] {
  const given = fields.required("kind", fields.text("kind", 1));
  const kind = CHANNEL_KINDS.find((known) => known === given);
  if (kind === undefined)
    throw fields.invalid("kind", `must be one of ${CHANNEL_KINDS.join(", ")}`);
  return kind;
}

function parseTarget(fields: Fields): TargetOrder {
  return {
    url: fields.text("url", 1),
    signingSecret: fields.text("signing_secret", 1),
    token: fields.text("token", 1),
    to: parseTexts(fields, "to"),
  };
}

function parseTexts(fields: Fields, name: string): readonly string[] | undefined {
  const value = fields.value(name);
  if (value === undefined) return undefined;
  const items = value instanceof JsonArray ? value.items : [undefined];
  const texts = items.filter((item) => typeof item === "string");
  if (texts.length === items.length) return texts;
  throw fields.invalid(name, "must be an array of strings");
}

function parseFlag(fields: Fields, name: string): boolean | undefined {
  const value = fields.value(name);
  if (value === undefined || typeof value === "boolean") return value;
  throw fields.invalid(name, "must be true or false");
}

function parseRemind(fields: Fields): number | null | undefined {
  const text = fields.text("remind_before", 1);
  if (text === undefined) return undefined;
  if (text === "off") return null;
  const ms = parseDuration(text);
  if (ms !== undefined && ms <= REMIND_MS_MAX) return ms;
  throw fields.invalid("remind_before", "must be a duration like 5m, at most 24h, or off");
}
