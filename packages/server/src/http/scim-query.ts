/**
 * Reads the query parameters of the SCIM API.
 *
 * @see RFC 7644, sections 3.4.2.2 (filter), 3.4.2.4 (pages), 3.4.2.5 (attributes)
 */

import type { FastifyRequest } from "fastify";
import { SCIM_PAGE_MAX } from "../core/scim-discovery.ts";
import { parseFilter } from "../core/scim-filter.ts";
import type { Projection } from "../core/scim-projection.ts";
import { ScimRefusal } from "../core/scim-refusal.ts";
import type { ScimQuery } from "../operations/scim/listScimUsers.ts";

const PAGE_DEFAULT = 100;

/** @throws ScimRefusal for an invalid filter or number */
export function pageOf(request: FastifyRequest): {
  readonly query: ScimQuery;
  readonly startIndex: number;
} {
  const filter = parameter(request, "filter");
  // Values below the minimum mean the minimum.
  const startIndex = Math.max(1, integer(request, "startIndex") ?? 1);
  const count = Math.max(0, integer(request, "count") ?? PAGE_DEFAULT);
  const query = {
    filter: filter === undefined ? undefined : parseFilter(filter),
    offset: startIndex - 1,
    limit: Math.min(count, SCIM_PAGE_MAX),
  };
  return { query, startIndex };
}

export function projectionOf(request: FastifyRequest): Projection {
  return {
    attributes: names(request, "attributes"),
    excludedAttributes: names(request, "excludedAttributes"),
  };
}

function names(request: FastifyRequest, name: string): readonly string[] | undefined {
  const text = parameter(request, name);
  return text?.split(",").map((each) => each.trim());
}

/** @throws ScimRefusal for a repeated parameter */
function parameter({ query }: FastifyRequest, name: string): string | undefined {
  const value = (query as Readonly<Record<string, unknown>>)[name];
  if (value === undefined || value === "") return undefined;
  if (typeof value === "string") return value;
  throw new ScimRefusal("invalidValue", `Send ${name} only once.`);
}

function integer(request: FastifyRequest, name: string): number | undefined {
  const text = parameter(request, name);
  if (text === undefined) return undefined;
  if (/^[+-]?\d{1,9}$/.test(text)) return Number(text);
  throw new ScimRefusal("invalidValue", `${name} must be a whole number.`);
}
