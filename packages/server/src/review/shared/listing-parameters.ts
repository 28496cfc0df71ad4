/**
 * The query of every listing on the reviewer surface, and the cursor that leads to its next page.
 */

import { Problem, parseIdentifier } from "@countersign/protocol";
import type { FastifyRequest } from "fastify";
import type { Listing } from "../../operations/requests/listRequests.ts";

export interface ListingParameters<State extends string> {
  readonly state: State;
  readonly limit: number;
  /** Where the page before ended. */
  readonly after: Listing["after"];
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;

const AFTER_RULE = "must be the value of next in an earlier answer";
const BEFORE_RULE = "must be the value of previous in an earlier answer";

/**
 * Reads `state`, `limit` and `after`.
 *
 * @param states what `state` may be; the first when it is not given
 * @throws Problem `invalid_request` naming the parameter
 */
export function listingParameters<State extends string>(
  request: FastifyRequest,
  states: readonly [State, State],
): ListingParameters<State> {
  const { state: given = states[0], limit, after } = request.query as Record<string, unknown>;
  const state = states.find((known) => known === given);
  if (state === undefined) throw wrong("state", `must be ${states.join(" or ")}`);
  const place = after === undefined ? undefined : parseCursor(after);
  return { state, limit: parseLimit(limit), after: place };
}

/**
 * Reads `limit` and `after` of a listing that is in the order of ids.
 *
 * @throws Problem `invalid_request` naming the parameter
 */
export function pageParameters(request: FastifyRequest): {
  readonly limit: number;
  /** Id of the last one of the page before. */
  readonly after: string | undefined;
} {
  const { limit, after } = request.query as Record<string, unknown>;
  const id = typeof after === "string" ? parseIdentifier(after) : undefined;
  if (after !== undefined && id === undefined) throw wrong("after", AFTER_RULE);
  return { limit: parseLimit(limit), after: id };
}

/** @throws Problem `invalid_request` when it is given twice */
export function textParameter(request: FastifyRequest, name: string): string | undefined {
  const value = (request.query as Record<string, unknown>)[name];
  if (value === undefined || typeof value === "string") return value;
  throw wrong(name, "must be given once");
}

/** Of one instance only. @throws Problem `invalid_request` */
export function instanceParameter(request: FastifyRequest): string | undefined {
  const text = textParameter(request, "instance_id");
  if (text === undefined) return undefined;
  const id = parseIdentifier(text);
  if (id === undefined) throw wrong("instance_id", "must be the id of an instance");
  return id;
}

/** @returns epoch ms @throws Problem `invalid_request` */
export function timeParameter(request: FastifyRequest, name: string): number | undefined {
  const text = textParameter(request, name);
  if (text === undefined) return undefined;
  const time = /^\d{4}-\d\d-\d\dT[0-9:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isSafeInteger(time) && time >= 0) return time;
  throw wrong(name, "must be a time like 2026-01-31T12:00:00Z");
}

/** How many to show. */
function parseLimit(limit: unknown): number {
  const isNumber = typeof limit === "string" && /^[1-9]\d{0,2}$/.test(limit);
  const count = limit === undefined ? LIMIT_DEFAULT : isNumber ? Number(limit) : 0;
  if (count >= 1 && count <= LIMIT_MAX) return count;
  throw wrong("limit", `must be a whole number from 1 to ${LIMIT_MAX}`);
}

/** A cursor of a page, like `next`: JSON text of the cursor, or null on the last one. */
export function writeCursor(next: Listing["after"]): string {
  return next === undefined ? "null" : `"${next.at}_${next.id}"`;
}

function parseCursor(text: unknown, param = "after"): NonNullable<Listing["after"]> {
  const [at = "", id = ""] = typeof text === "string" ? text.split("_") : [];
  const identifier = parseIdentifier(id);
  if (!/^\d{1,15}$/.test(at) || identifier === undefined) {
    throw wrong(param, param === "after" ? AFTER_RULE : BEFORE_RULE);
  }
  return { at: Number(at), id: identifier };
}

export function wrong(param: string, rule: string): Problem {
  return new Problem("invalid_request", `${param} ${rule}.`, { param });
}
