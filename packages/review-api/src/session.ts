/** Sessions of browsers: who is signed in, to which project. Signing in and out, and links. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { REVIEWER_ROLES } from "./roles.ts";
import { anyText, body, id, named, parameter, SMALL_BODY_BYTES_MAX, timestamp } from "./schema.ts";

export const user = v.object({ id, login: v.string(), name: v.string() });

export const signInMethod = v.picklist(["password", "passkey", "oidc"]);

const project = v.object({
  id: v.string(),
  name: v.string(),
  /** The reviewer that the user is in this project. */
  reviewer: named,
  role: v.picklist(REVIEWER_ROLES),
  groups: v.array(v.string()),
});

export const shownSession = v.object({
  person: user,
  session: v.object({
    id,
    method: signInMethod,
    created_at: timestamp,
    expires_at: timestamp,
    /** When it ends without activity. */
    idle_at: timestamp,
  }),
  /** The project of the call; null for a user who belongs to none. */
  project: v.nullable(project),
  projects: v.array(project),
  now: timestamp,
});

export type Session = v.InferOutput<typeof shownSession>;
export type Project = v.InferOutput<typeof project>;

const openedInvitation = v.object({
  /** The first user, another user, or a user who comes back. */
  kind: v.picklist(["setup", "join", "return"]),
  project: v.nullable(v.string()),
  role: v.nullable(v.picklist(REVIEWER_ROLES)),
  groups: v.array(v.string()),
  name: v.string(),
  login: v.nullable(v.string()),
  expires_at: timestamp,
});

export type OpenedInvitation = v.InferOutput<typeof openedInvitation>;

const signInWays = v.object({
  /** Whether there is an identity provider. */
  oidc: v.boolean(),
  /** Whether it is the only way to sign in. */
  only: v.boolean(),
});

export type SignInWays = v.InferOutput<typeof signInWays>;

export const session = {
  showSession: operation({
    method: "GET",
    path: "/session",
    summary: "Show the signed-in user and the session.",
    caller: "person",
    answers: { 200: shownSession },
    errors: [],
  }),

  signIn: operation({
    method: "POST",
    path: "/session",
    summary: "Sign in with a password; sets the cookie.",
    caller: "anonymous",
    bodyBytesMax: SMALL_BODY_BYTES_MAX,
    body: body({ login: anyText, password: anyText }),
    answers: { 200: shownSession },
    errors: ["forbidden", "invalid_credential"],
  }),

  signOut: operation({
    method: "DELETE",
    path: "/session",
    summary: "Sign out.",
    caller: "person",
    answers: { 200: v.object({ signed_in: v.literal(false) }) },
    errors: [],
  }),

  openInvitation: operation({
    method: "POST",
    path: "/invitation",
    summary: "Show the purpose of a link.",
    caller: "anonymous",
    bodyBytesMax: SMALL_BODY_BYTES_MAX,
    body: body({ token: anyText }),
    answers: { 200: openedInvitation },
    errors: ["not_found"],
  }),

  useInvitation: operation({
    method: "POST",
    path: "/invitation/use",
    summary: "Use a link: set a password and sign in; sets the cookie.",
    caller: "anonymous",
    bodyBytesMax: SMALL_BODY_BYTES_MAX,
    body: body({
      token: anyText,
      /** Of a new user. */
      login: v.optional(anyText),
      name: v.optional(anyText),
      password: anyText,
    }),
    answers: { 201: shownSession },
    errors: ["forbidden", "not_found"],
  }),

  joinProject: operation({
    method: "POST",
    path: "/invitation/join",
    summary: "Use a link: become a reviewer of one more project.",
    caller: "person",
    bodyBytesMax: SMALL_BODY_BYTES_MAX,
    body: body({ token: anyText }),
    answers: { 200: shownSession },
    errors: ["forbidden", "not_found"],
  }),

  showWays: operation({
    method: "GET",
    path: "/session/ways",
    summary: "Show the ways to sign in.",
    caller: "anonymous",
    answers: { 200: signInWays },
    errors: [],
  }),

  beginOidcSignIn: operation({
    method: "GET",
    path: "/session/oidc",
    summary: "Redirect the browser to the identity provider.",
    caller: "anonymous",
    query: v.strictObject({
      /** The path of the page to open afterwards. */
      return_to: parameter(),
    }),
    answers: { 303: null },
    errors: ["not_found"],
  }),

  completeOidcSignIn: operation({
    method: "GET",
    path: "/session/oidc/callback",
    summary: "Complete the sign-in with the identity provider; sets the cookie.",
    caller: "anonymous",
    /** The identity provider chooses them (RFC 6749, section 4.1.2). */
    query: "any",
    answers: { 303: null },
    errors: ["not_found", "sign_in_refused"],
  }),
};
