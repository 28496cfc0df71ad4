/** The account of the user who is signed in: sessions, password, preferences. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { passkey } from "./passkeys.ts";
import {
  anyText,
  body,
  flag,
  id,
  SMALL_BODY_BYTES_MAX,
  storable,
  text,
  timestamp,
  visibleName,
  word,
} from "./schema.ts";
import { signInMethod, user } from "./session.ts";

/** The languages of the console. */
export const LANGUAGES = ["en", "de"] as const;

export const THEMES = ["system", "light", "dark", "contrast"] as const;

/** Requests that a user is notified of: all that they may decide, those that name them, none. */
export const NOTIFY = ["all", "named", "none"] as const;

export type Notify = (typeof NOTIFY)[number];

export type Language = (typeof LANGUAGES)[number];
export type Theme = (typeof THEMES)[number];

/** The page of the console after a decision: the next request, or the decided one. */
export const AFTER_DECISION = ["next", "stay"] as const;

export type AfterDecision = (typeof AFTER_DECISION)[number];

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

/** Saved views of a user, and the characters of each name and query. */
export const VIEWS = { max: 20, nameChars: 60, queryChars: 500 };

/** 20 views in escapes. */
const PREFERENCES_BYTES_MAX = 65_536;

const views = v.array(
  v.object({
    name: v.string(),
    /** The filters of the history, as its address has them, without `?`. */
    query: v.string(),
  }),
);

export type SavedView = v.InferOutput<typeof views>[number];

const sentViews = v.pipe(
  v.array(
    body({ name: visibleName(VIEWS.nameChars), query: v.pipe(text(VIEWS.queryChars), storable) }),
    "must be an array of views",
  ),
  v.maxLength(VIEWS.max, `must not have more than ${VIEWS.max} views`),
);

const preferences = v.object({
  theme: v.picklist(THEMES),
  /** Whether single keys act in the console. */
  keys: v.boolean(),
  after_decision: v.picklist(AFTER_DECISION),
  quiet_hours: v.nullable(quietHours),
  /** A name of the IANA database for times in the console; null: the zone of the browser. */
  time_zone: v.nullable(v.string()),
  /** Of the console; null: the language of the browser. */
  language: v.nullable(v.picklist(LANGUAGES)),
  notify: v.picklist(NOTIFY),
  /** Saved filters of the history. */
  views,
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
    bodyBytesMax: PREFERENCES_BYTES_MAX,
    body: body({
      theme: v.optional(word(THEMES)),
      keys: v.optional(flag),
      after_decision: v.optional(word(AFTER_DECISION)),
      quiet_hours: v.nullish(body({ from: clockTime, to: clockTime, time_zone: anyText })),
      time_zone: v.nullish(anyText),
      language: v.nullish(word(LANGUAGES)),
      notify: v.optional(word(NOTIFY)),
      /** Replaces all views. */
      views: v.optional(sentViews),
    }),
    answers: { 200: preferences },
    errors: [],
  }),
};
