/** Full-text search over pending and resolved requests. */

import * as v from "valibot";
import { filter } from "./history-shapes.ts";
import { operation } from "./operation.ts";
import { anyStatus, confirmKind, line } from "./request-shapes.ts";
import { actor, cursor, id, named, page, storable, timestamp } from "./schema.ts";

/** Characters of a search. */
export const SEARCH_CHARS_MAX = 200;

export const SEARCH_FIELDS = ["tool", "arguments", "note", "person"] as const;

export type SearchField = (typeof SEARCH_FIELDS)[number];

const RULE = `must have 1 to ${SEARCH_CHARS_MAX} characters`;

const searchText = v.pipe(
  v.string("must be given once"),
  v.minLength(1, RULE),
  v.maxLength(SEARCH_CHARS_MAX, RULE),
  storable,
);

const match = v.object({
  field: v.picklist(SEARCH_FIELDS),
  /** The text around the first match, in pieces; the text can come from the agent. */
  excerpt: v.array(v.object({ text: v.string(), match: v.boolean() })),
});

const foundRequest = v.object({
  id,
  tool: v.string(),
  server: v.optional(v.string()),
  instance: named,
  status: anyStatus,
  created_at: timestamp,
  decided_at: v.optional(timestamp),
  decided_by: v.optional(actor),
  /** The name of the reviewer who decided. */
  decider: v.optional(v.string()),
  confirm: confirmKind,
  line,
  /** Where the request matches, at least once. */
  matches: v.array(match),
});

export type FoundRequest = v.InferOutput<typeof foundRequest>;
export type SearchMatch = v.InferOutput<typeof match>;

export const search = {
  searchRequests: operation({
    method: "GET",
    path: "/search",
    summary: "Search requests by tool, arguments, notes and deciders, the latest request first.",
    caller: "reviewer",
    power: "read",
    query: v.strictObject({
      /** Words, phrases in quotation marks, and words that start with a prefix, like `refund*`. */
      q: searchText,
      ...page,
      ...filter,
    }),
    answers: { 200: v.object({ requests: v.array(foundRequest), next: cursor }) },
    errors: [],
  }),
};
