/** Freezes: while one is active, the server denies every call that it covers. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import {
  actor,
  body,
  cursor,
  id,
  identifier,
  named,
  page,
  storable,
  text,
  timestamp,
  word,
  wordParameter,
} from "./schema.ts";

const SCOPES = ["instance", "project", "server"] as const;

export const freeze = v.object({
  id,
  scope: v.picklist(SCOPES),
  /** With the scope `instance` only. */
  instance: v.optional(named),
  /** Sent to the agents with each denial. */
  note: v.optional(v.string()),
  frozen_at: timestamp,
  frozen_by: actor,
  lifted_at: v.optional(timestamp),
  lifted_by: v.optional(actor),
});

export type Freeze = v.InferOutput<typeof freeze>;

const frozen = v.object({
  ...freeze.entries,
  /** How many pending requests the server denied before it answered. */
  denied: v.number(),
  /** False while the server still denies pending requests. */
  complete: v.boolean(),
});

export const freezes = {
  listFreezes: operation({
    method: "GET",
    path: "/freezes",
    summary: "List freezes, the latest first.",
    caller: "reviewer",
    power: "read",
    query: v.strictObject({
      state: v.optional(wordParameter(["in_force", "lifted"]), "in_force"),
      ...page,
    }),
    answers: { 200: v.object({ freezes: v.array(freeze), next: cursor, now: timestamp }) },
    errors: [],
  }),

  freezeCalls: operation({
    method: "POST",
    path: "/freezes",
    summary: "Freeze an instance, the project or the server.",
    caller: "reviewer",
    power: "freeze",
    body: body({
      scope: word(SCOPES),
      /** With the scope `instance` only. */
      instance_id: v.optional(identifier("an instance")),
      note: v.optional(v.pipe(text(2_000), storable)),
    }),
    answers: { 200: frozen, 201: frozen },
    errors: ["forbidden", "not_found"],
  }),

  liftFreeze: operation({
    method: "POST",
    path: "/freezes/{id}/lift",
    summary: "Lift a freeze.",
    caller: "reviewer",
    power: "freeze",
    answers: { 200: freeze },
    errors: ["forbidden", "not_found"],
  }),
};
