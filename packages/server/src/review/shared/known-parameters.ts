/**
 * The query parameters of every GET route of the reviewer surface. An unknown one is an error: a
 * misspelt filter that is ignored would return rows that were not requested.
 */

import { Problem } from "@countersign/protocol";
import { REVIEW_OPERATIONS } from "@countersign/review-api";
import type { FastifyRequest } from "fastify";

/** By operation; a GET that is not here has none. */
export const KNOWN_PARAMETERS: Readonly<Record<string, readonly string[] | "any">> = {};

/** Runs after the credential was checked. @throws Problem `invalid_request` with the parameters */
export async function refuseUnknownParameters({
  method,
  query,
  routeOptions: { url = "", config },
}: FastifyRequest): Promise<void> {
  if (method !== "GET" || !url.startsWith("/review/v1/")) return;
  const { operation = "" } = config;
  // The table of operations declares and checks the parameters of its routes.
  if (Object.hasOwn(REVIEW_OPERATIONS, operation)) return;
  const known = KNOWN_PARAMETERS[operation] ?? [];
  if (known === "any") return;
  const unknown = Object.keys(query as object).filter((name) => !known.includes(name));
  const [param] = unknown;
  if (param === undefined) return;
  const listed = known.length === 0 ? "This route has none" : `Known here: ${known.join(", ")}`;
  const message = `Unknown query parameter ${unknown.join(", ")}. ${listed}.`;
  throw new Problem("invalid_request", message, { param });
}
