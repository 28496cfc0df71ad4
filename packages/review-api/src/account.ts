/** The account of the user who is signed in: sessions, password, preferences. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { passkey } from "./passkeys.ts";
import { anyText, body, flag, id, SMALL_BODY_BYTES_MAX, timestamp, word } from "./schema.ts";
import { signInMethod, user } from "./session.ts";

export const THEMES = ["system", "light", "dark"] as const;

export type Theme = (typeof THEMES)[number];

const shownAccount = v.object({
  person: user,
  has_password: v.boolean(),
  sessions: v.array(
    v.object({
      id,
      method: signInMethod,
      user_agent: v.string(),
      /** Whether it is the session of the caller. */
      current: v.boolean(),
      created_at: timestamp,
      /** To the minute. */
      seen_at: timestamp,
      expires_at: timestamp,
    }),
  ),
  passkeys: v.array(passkey),
});

export type Account = v.InferOutput<typeof shownAccount>;

/** When Web Push is quiet; may pass midnight. */
const quietHours = v.object({
  /** Like `07:30`. */
  from: v.string(),
  to: v.string(),
  /** A name of the IANA database. */
  time_zone: v.string(),
});

const preferences = v.object({
  theme: v.picklist(THEMES),
  /** Whether single keys act in the console. */
  keys: v.boolean(),
  quiet_hours: v.nullable(quietHours),
});

export type Preferences = v.InferOutput<typeof preferences>;
export type QuietHours = v.InferOutput<typeof quietHours>;

/** The handler receives minutes after midnight. */
const clockTime = v.pipe(
  anyText,
  v.regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "must be a time like 07:30"),
  v.transform((time) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))),
);

export const account = {
  showAccount: operation({
    method: "GET",
    path: "/account",
    summary: "Show your account.",
    caller: "person",
    answers: { 200: shownAccount },
    errors: [],
  }),

  endSession: operation({
    method: "DELETE",
    path: "/account/sessions/{id}",
    summary: "Sign out one of your sessions.",
    caller: "person",
    answers: { 200: v.object({ ended: id }) },
    errors: ["not_found"],
  }),

  changePassword: operation({
    method: "PUT",
    path: "/account/password",
    summary: "Change your password and sign out your other sessions.",
    caller: "person",
    bodyBytesMax: SMALL_BODY_BYTES_MAX,
    body: body({
      /** Required of users with a password. Other users must have signed in recently. */
      current_password: v.optional(anyText),
      new_password: anyText,
    }),
    answers: { 200: v.object({ changed: v.literal(true) }) },
    errors: ["forbidden"],
  }),

  showPreferences: operation({
    method: "GET",
    path: "/account/preferences",
    summary: "Show your preferences.",
    caller: "person",
    answers: { 200: preferences },
    errors: [],
  }),

  changePreferences: operation({
    method: "PATCH",
    path: "/account/preferences",
    summary: "Change your preferences.",
    caller: "person",
    bodyBytesMax: SMALL_BODY_BYTES_MAX,
    body: body({
      theme: v.optional(word(THEMES)),
      keys: v.optional(flag),
      quiet_hours: v.nullish(body({ from: clockTime, to: clockTime, time_zone: anyText })),
    }),
    answers: { 200: preferences },
    errors: [],
  }),
};
