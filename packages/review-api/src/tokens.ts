/** Tokens of reviewers, bots and provisioners. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { REVIEWER_ROLES } from "./roles.ts";
import { anyText, body, duration, groupNames, id, texts, timestamp, word } from "./schema.ts";

const NAME_CHARS_MAX = 100;
const TEN_YEARS_MS = 10 * 366 * 24 * 3_600_000;

/** Displayed on one line, and compared by eye. */
const NAME = /^[^\p{C}\p{Z}](?:[^\p{C}\p{Zl}\p{Zp}]*[^\p{C}\p{Z}])?$/u;

const botName = v.pipe(
  anyText,
  v.check(
    (name) => name.length <= NAME_CHARS_MAX && NAME.test(name) && name === name.normalize("NFC"),
    `must be one line of up to ${NAME_CHARS_MAX} visible characters`,
  ),
  v.metadata({ maxLength: NAME_CHARS_MAX }),
);

export const token = v.object({
  id,
  kind: v.picklist(["reviewer", "provisioner"]),
  holder: v.object({
    id,
    name: v.string(),
    /** Of reviewers. */
    kind: v.optional(v.picklist(["person", "bot"])),
    role: v.optional(v.picklist(REVIEWER_ROLES)),
  }),
  /** Null: everything that the holder may do. */
  scopes: v.nullable(v.array(v.string())),
  created_at: timestamp,
  /** Null: it does not expire. */
  expires_at: v.nullable(timestamp),
});

export type Token = v.InferOutput<typeof token>;

export const tokens = {
  listTokens: operation({
    method: "GET",
    path: "/tokens",
    summary: "List the valid tokens of the project, except those of instances.",
    caller: "reviewer",
    power: "people",
    answers: { 200: v.object({ tokens: v.array(token) }) },
    errors: ["forbidden"],
  }),

  issueToken: operation({
    method: "POST",
    path: "/tokens",
    summary: "Create a token for the caller, a bot or a provisioner.",
    caller: "reviewer",
    power: "people",
    fresh: true,
    body: body({
      /** A provisioner creates instances. Default: reviewer. */
      kind: v.optional(word(["reviewer", "provisioner"])),
      /** Of a bot or provisioner, which is created if it is new; absent: the caller. */
      name: v.optional(botName),
      /** Of a new bot. */
      role: v.optional(word(REVIEWER_ROLES)),
      groups: v.optional(groupNames),
      scopes: v.nullish(texts),
      expires_in: v.optional(duration(0, TEN_YEARS_MS)),
    }),
    /** The token is displayed once. */
    answers: { 201: v.object({ ...token.entries, token: v.string() }) },
    errors: ["forbidden"],
  }),

  revokeToken: operation({
    method: "DELETE",
    path: "/tokens/{id}",
    summary: "Revoke a token.",
    caller: "reviewer",
    power: "people",
    answers: { 204: null },
    errors: ["forbidden", "not_found"],
  }),
};
