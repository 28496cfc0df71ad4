/** Instances: the identities under which agents send requests, as the project administers them. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import {
  anyText,
  body,
  deliveryAttempt,
  duration,
  groupNames,
  id,
  identifier,
  type NamedSchema,
  pageById,
  storable,
  text,
  timestamp,
} from "./schema.ts";

const receiver = v.object({
  /** Without path and query, which may hold secrets. */
  origin: v.nullable(v.string()),
  verified_at: timestamp,
  /** Deliveries that are not finished, counted up to 1,000. */
  waiting: v.number(),
  /** Of the delivery with the most attempts, as are the next two. */
  attempts: v.optional(v.number()),
  next_attempt_at: v.optional(timestamp),
  last_attempt: v.optional(deliveryAttempt),
});

const proposedChange = v.object({
  groups: v.array(v.string()),
  owner: v.nullable(v.string()),
  /** Null when the proposer is not a reviewer of the project anymore. */
  proposer: v.nullable(v.string()),
  proposed_at: timestamp,
});

const workload = v.object({
  /** Name of the rule that created the instance. */
  rule: v.string(),
  issuer: v.string(),
  /** The claims that named the instance, as `claim=value`. */
  claims: v.array(v.string()),
});

const instanceMembers = {
  id,
  name: v.string(),
  groups: v.array(v.string()),
  /** Name of a reviewer. */
  owner: v.nullable(v.string()),
  created_at: timestamp,
  /** Pending requests, counted among the first 10,000 of the project. */
  pending: v.number(),
  last_request_at: v.nullable(timestamp),
  receiver: v.nullable(receiver),
  /** Tokens of a platform that use the instance; absent without workload identity. */
  workload: v.optional(workload),
  /** Takes effect when a second person requests the same; absent when there is none. */
  proposed_change: v.optional(proposedChange),
};

export interface InstanceSchema extends NamedSchema<typeof instanceMembers> {}

export const instance: InstanceSchema = v.object(instanceMembers);

export type Receiver = v.InferOutput<typeof receiver>;
export type ProposedChange = v.InferOutput<typeof proposedChange>;
export type Instance = v.InferOutput<typeof instance>;

const createdInstance = v.object({
  ...instance.entries,
  /** The token of the agent, displayed once. */
  credential: v.string(),
});

/** How long a replaced credential can stay valid. */
const OVERLAP_MS_MAX = 720 * 3_600_000;

export type CreatedInstance = v.InferOutput<typeof createdInstance>;

const groups = v.optional(groupNames);

/** Name of a reviewer; null for no owner. */
const owner = v.optional(v.nullable(v.pipe(anyText, storable)));

export const instances = {
  listInstances: operation({
    method: "GET",
    path: "/instances",
    summary: "List the instances of the project, the oldest first.",
    caller: "reviewer",
    power: "read",
    query: v.strictObject(pageById),
    answers: {
      200: v.object({
        instances: v.array(instance),
        /** Id of the last instance of the page; null on the last page. */
        next: v.nullable(id),
      }),
    },
    errors: [],
  }),

  showInstance: operation({
    method: "GET",
    path: "/instances/{id}",
    summary: "Show an instance.",
    caller: "reviewer",
    power: "read",
    answers: { 200: instance },
    errors: ["not_found"],
  }),

  createInstance: operation({
    method: "POST",
    path: "/instances",
    summary: "Create an instance and its credential.",
    caller: "reviewer",
    power: "people",
    fresh: true,
    body: body({
      /** The server generates a name when it is absent. */
      name: v.optional(text(128)),
      owner,
      groups,
    }),
    answers: { 201: createdInstance },
    errors: ["forbidden"],
  }),

  removeInstance: operation({
    method: "DELETE",
    path: "/instances/{id}",
    summary: "Delete an instance and cancel its pending requests.",
    caller: "reviewer",
    power: "people",
    answers: { 200: v.object({ deleted: id }) },
    errors: ["forbidden", "not_found"],
  }),

  groupInstance: operation({
    method: "PATCH",
    path: "/instances/{id}",
    summary: "Change the groups and the owner of an instance.",
    caller: "reviewer",
    power: "publish",
    /** An absent member stays unchanged. */
    body: body({ groups, owner }),
    /** 202 while the change waits for a second person. */
    answers: { 200: instance, 202: instance },
    errors: ["forbidden", "not_found"],
  }),

  rotateCredential: operation({
    method: "POST",
    path: "/instances/{id}/credential",
    summary: "Replace the credential of an instance.",
    caller: "reviewer",
    power: "people",
    fresh: true,
    body: body({
      /** How long earlier credentials stay valid. When absent, they are revoked immediately. */
      overlap: v.optional(duration(0, OVERLAP_MS_MAX)),
    }),
    answers: { 201: v.object({ credential: v.string(), earlier_until: timestamp }) },
    errors: ["forbidden", "not_found"],
  }),

  renameInstance: operation({
    method: "PUT",
    path: "/instances/{id}/name",
    summary: "Rename an instance.",
    caller: "reviewer",
    power: "people",
    body: body({ name: text(128) }),
    answers: { 200: instance },
    errors: ["forbidden", "not_found"],
  }),

  setReceiver: operation({
    method: "PUT",
    path: "/instances/{id}/receiver",
    summary: "Verify and install the webhook receiver of an instance.",
    caller: "reviewer",
    power: "people",
    fresh: true,
    body: body({
      url: anyText,
      registration_id: identifier("a registration"),
      signing_secret: anyText,
    }),
    answers: { 200: instance },
    errors: [
      "forbidden",
      "not_found",
      "unsupported_delivery_type",
      "invalid_webhook_url",
      "webhook_verification_failed",
      "update_superseded",
    ],
  }),

  removeReceiver: operation({
    method: "DELETE",
    path: "/instances/{id}/receiver",
    summary: "Remove the webhook receiver of an instance and end its deliveries.",
    caller: "reviewer",
    power: "people",
    answers: { 200: instance },
    errors: ["forbidden", "not_found"],
  }),

  testReceiver: operation({
    method: "POST",
    path: "/instances/{id}/receiver/test",
    summary: "Send a challenge to the webhook receiver of an instance.",
    caller: "reviewer",
    power: "people",
    answers: { 204: null },
    errors: [
      "forbidden",
      "not_found",
      "unsupported_delivery_type",
      "invalid_webhook_url",
      "webhook_verification_failed",
    ],
  }),
};
