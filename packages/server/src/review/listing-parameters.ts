/**
 * The query of every listing on the reviewer surface, and the cursor that leads to its next page.
 */

import { Problem, parseIdentifier } from "@countersign/protocol";
import type { FastifyRequest } from "fastify";
import type { Listing } from "../operations/listRequests.ts";

export interface ListingParameters<State extends string> {
  readonly state: State;
  readonly limit: number;
  /** Where the page before ended. */
  readonly after: Listing["after"];
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;

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
  const isNumber = typeof limit === "string" && /^[1-9]\d{0,2}$/.test(limit);
  const count = limit === undefined ? LIMIT_DEFAULT : isNumber ? Number(limit) : 0;
  if (count < 1 || count > LIMIT_MAX) {
    throw wrong("limit", `must be a whole number from 1 to ${LIMIT_MAX}`);
  }
  return { state, limit: count, after: after === undefined ? undefined : parseCursor(after) };
}

/** The member `next` of a page: JSON text of the cursor, or null on the last one. */
export function writeCursor(next: Listing["after"]): string {
  return next === undefined ? "null" : `"${next.at}_${next.id}"`;
}

function parseCursor(text: unknown): NonNullable<Listing["after"]> {
  const [at = "", id = ""] = typeof text === "string" ? text.split("_") : [];
  const identifier = parseIdentifier(id);
  if (!/^\d{1,15}$/.test(at) || identifier === undefined) {
    throw wrong("after", "must be the value of next in an earlier answer");
  }
  return { at: Number(at), id: identifier };
}

function wrong(param: string, rule: string): Problem {
  return new Problem("invalid_request", `${param} ${rule}.`, { param });
}
