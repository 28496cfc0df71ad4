/** Instances: the identities under which agents send requests, as the project administers them. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import {
  anyText,
  body,
  deliveryAttempt,
  groupNames,
  id,
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

export const instance = v.object({
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
  /** Takes effect when a second person requests the same; absent when there is none. */
  proposed_change: v.optional(proposedChange),
});

export type Receiver = v.InferOutput<typeof receiver>;
export type ProposedChange = v.InferOutput<typeof proposedChange>;
export type Instance = v.InferOutput<typeof instance>;

const createdInstance = v.object({
  ...instance.entries,
  /** The token of the agent, displayed once. */
  credential: v.string(),
});

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
};
