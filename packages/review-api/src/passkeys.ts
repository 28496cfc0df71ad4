/** Passkeys: those of an account, and signing in with one. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { anyText, body, exactObject, jsonObject, text, timestamp } from "./schema.ts";
import { shownSession } from "./session.ts";

const NAME_CHARS_MAX = 80;

const passkeyName = v.pipe(
  text(NAME_CHARS_MAX),
  v.check(
    (name) => /[^\p{White_Space}\p{C}]/u.test(name) && !/[\p{Cc}\p{Cf}\p{Cs}]/u.test(name),
    "must have visible characters only",
  ),
);

/** Of a browser's answer before anyone has signed in. */
const ANSWER_BYTES_MAX = 32_768;

/** Options of a browser, for `PublicKeyCredential.parseCreationOptionsFromJSON` and the like. */
const options = v.object({ options: exactObject });

export const passkey = v.object({
  /** The credential id, base64url. */
  id: v.string(),
  name: v.string(),
  created_at: timestamp,
  used_at: v.nullable(timestamp),
});

export type Passkey = v.InferOutput<typeof passkey>;

export const passkeys = {
  listPasskeys: operation({
    method: "GET",
    path: "/account/passkeys",
    summary: "List your passkeys.",
    caller: "person",
    answers: { 200: v.object({ passkeys: v.array(passkey) }) },
    errors: [],
  }),

  beginPasskey: operation({
    method: "POST",
    path: "/account/passkeys/options",
    summary: "Create the options for a new passkey.",
    caller: "person",
    fresh: true,
    answers: { 200: options },
    errors: ["forbidden"],
  }),

  addPasskey: operation({
    method: "POST",
    path: "/account/passkeys",
    summary: "Add a passkey.",
    caller: "person",
    fresh: true,
    body: body({ name: v.optional(passkeyName), answer: jsonObject }),
    answers: { 201: passkey },
    errors: ["forbidden", "passkey_refused"],
  }),

  renamePasskey: operation({
    method: "PATCH",
    path: "/account/passkeys/{passkey}",
    summary: "Rename a passkey.",
    caller: "person",
    body: body({ name: passkeyName }),
    answers: { 200: passkey },
    errors: ["not_found"],
  }),

  removePasskey: operation({
    method: "DELETE",
    path: "/account/passkeys/{passkey}",
    summary: "Remove a passkey.",
    caller: "person",
    fresh: true,
    answers: { 200: v.object({ removed: v.literal(true) }) },
    errors: ["forbidden", "not_found"],
  }),

  beginPasskeySignIn: operation({
    method: "POST",
    path: "/session/passkey/options",
    summary: "Create the options for a sign-in with a passkey.",
    caller: "anonymous",
    bodyBytesMax: ANSWER_BYTES_MAX,
    answers: { 200: options },
    errors: [],
  }),

  signInWithPasskey: operation({
    method: "POST",
    path: "/session/passkey",
    summary: "Sign in with a passkey; sets the cookie.",
    caller: "anonymous",
    bodyBytesMax: ANSWER_BYTES_MAX,
    body: body({ answer: jsonObject }),
    answers: { 200: shownSession },
    errors: ["forbidden", "invalid_credential", "passkey_refused"],
  }),

  beginPasskeyByLink: operation({
    method: "POST",
    path: "/invitation/passkey/options",
    summary: "Create the options for the passkey of a user with a link.",
    caller: "anonymous",
    bodyBytesMax: ANSWER_BYTES_MAX,
    body: body({ token: anyText, login: v.optional(anyText) }),
    answers: { 200: options },
    errors: ["not_found"],
  }),

  joinWithPasskey: operation({
    method: "POST",
    path: "/invitation/passkey",
    summary: "Use a link: add a passkey and sign in; sets the cookie.",
    caller: "anonymous",
    bodyBytesMax: ANSWER_BYTES_MAX,
    body: body({
      token: anyText,
      /** Of a new user. */
      login: v.optional(anyText),
      name: v.optional(anyText),
      passkey_name: v.optional(passkeyName),
      answer: jsonObject,
    }),
    answers: { 201: shownSession },
    errors: ["forbidden", "not_found", "passkey_refused"],
  }),
};
