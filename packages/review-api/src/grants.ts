/** Standing grants: calls that a reviewer approves in advance. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import { anyStatus } from "./request-shapes.ts";
import {
  body,
  cursor,
  duration,
  flag,
  id,
  identifier,
  identifierParameter,
  named,
  page,
  text,
  timestamp,
  wholeNumber,
  wordParameter,
} from "./schema.ts";

const HOUR_MS = 3_600_000;

/** How long a grant lasts. */
export const GRANT_LASTS_MS = { default: HOUR_MS / 2, max: 24 * HOUR_MS };

/** How many calls a grant approves. */
export const GRANT_CALLS = { default: 10, max: 1_000 };

const NAME_CHARS_MAX = 512;

export const grant = v.object({
  id,
  state: v.picklist(["active", "revoked", "exhausted", "expired"]),
  instance: named,
  /** The reviewer who created it. */
  reviewer: named,
  tool: v.string(),
  server: v.optional(v.string()),
  /** Calls of any server and calls without one. */
  any_server: v.optional(v.literal(true)),
  /** A condition in CEL. */
  when: v.optional(v.string()),
  session: v.optional(v.string()),
  /** A turn of the session: `turn_id` or `prompt_id` of the context. */
  turn: v.optional(v.string()),
  note: v.optional(v.string()),
  valid_for: v.optional(v.string()),
  calls: v.number(),
  calls_max: v.number(),
  created_at: timestamp,
  expires_at: timestamp,
  revoked_at: v.optional(timestamp),
  revoked_by: v.optional(v.string()),
});

export type Grant = v.InferOutput<typeof grant>;

/** The calls that a grant approves. */
const scope = {
  /** A request that provides what is not given: instance, tool, server, session. */
  from_request: v.optional(identifier("a request")),
  instance_id: v.optional(identifier("an instance")),
  tool: v.optional(text(NAME_CHARS_MAX)),
  server: v.optional(text(NAME_CHARS_MAX)),
  /** Calls of any server and calls without one; excludes `server`. */
  any_server: v.optional(flag),
  when: v.optional(v.pipe(v.string("must be a string"), v.minLength(1, "must not be empty"))),
  session: v.optional(text(500)),
  /** Excludes `session`. */
  any_session: v.optional(flag),
  /** A turn of the session: `turn_id` or `prompt_id` of the context. */
  turn: v.optional(text(500)),
  /** Takes session and turn from the request; excludes `session`, `any_session`, `turn`. */
  same_turn: v.optional(flag),
};

/** A past call that a grant would have approved. */
const answeredCall = v.object({
  id,
  tool: v.string(),
  status: anyStatus,
  created_at: timestamp,
});

export const grantPreview = v.object({
  /** Questions of the last 7 days that the grant would have answered. */
  approved: v.number(),
  /** Those of them that a person denied. */
  denied: v.number(),
  /** Denied ones first, then the latest; at most 5. */
  examples: v.array(answeredCall),
  /** False: the project has more calls in these days than are searched. */
  complete: v.boolean(),
});

export type GrantPreview = v.InferOutput<typeof grantPreview>;

export const grants = {
  listGrants: operation({
    method: "GET",
    path: "/grants",
    summary: "List standing grants, the latest first.",
    caller: "reviewer",
    power: "read",
    query: v.strictObject({
      state: v.optional(wordParameter(["active", "ended"]), "active"),
      /** With `active` only: there is no index by instance for the others. */
      instance_id: identifierParameter("an instance"),
      ...page,
    }),
    answers: { 200: v.object({ grants: v.array(grant), next: cursor, now: timestamp }) },
    errors: [],
  }),

  createGrant: operation({
    method: "POST",
    path: "/grants",
    summary: "Create a standing grant.",
    caller: "reviewer",
    power: "decide",
    idempotencyKey: "optional",
    body: body({
      ...scope,
      note: v.optional(text(2_000)),
      valid_for: v.optional(duration()),
      calls: v.optional(wholeNumber(1, GRANT_CALLS.max), GRANT_CALLS.default),
      lasts: v.optional(duration(0, GRANT_LASTS_MS.max)),
    }),
    answers: { 200: grant, 201: grant },
    errors: ["forbidden", "not_found", "idempotency_conflict"],
  }),

  previewGrant: operation({
    method: "POST",
    path: "/grant-preview",
    summary: "Show the past calls that a grant would have approved.",
    caller: "reviewer",
    power: "decide",
    body: body(scope),
    answers: { 200: grantPreview },
    errors: ["forbidden", "not_found"],
  }),

  showGrant: operation({
    method: "GET",
    path: "/grants/{id}",
    summary: "Show a standing grant.",
    caller: "reviewer",
    power: "read",
    answers: { 200: grant },
    errors: ["not_found"],
  }),

  revokeGrant: operation({
    method: "POST",
    path: "/grants/{id}/revoke",
    summary: "Revoke a standing grant.",
    caller: "reviewer",
    power: "decide",
    answers: { 200: grant },
    errors: ["forbidden", "not_found"],
  }),
};
