/**
 * The project that a call of the reviewer API names. So a user can work in several projects at the
 * same time, with one session.
 *
 * @see docs/decisions/0040-project-in-the-address.md
 */

import { Problem } from "@countersign/protocol";
import type { FastifyRequest } from "fastify";
import { assertNotRepeated } from "./message-fault.ts";

const HEADER = "Countersign-Project";

/** For event streams and downloads: a page cannot add headers to them. */
const PARAMETER = "project";

const PROJECT_ID = /^[\w-]{1,64}$/;

/**
 * @returns undefined: the call names none, and the project of the session or token applies
 * @throws Problem `invalid_request` for a text that is not an id of a project
 */
export function namedProject(request: FastifyRequest): string | undefined {
  assertNotRepeated(request.raw, HEADER);
  const inHeader = request.headers[HEADER.toLowerCase()];
  if (inHeader !== undefined) return readProjectId(inHeader, HEADER);
  const inQuery = (request.query as Readonly<Record<string, unknown>>)[PARAMETER];
  if (request.method !== "GET" || inQuery === undefined) return undefined;
  return readProjectId(inQuery, PARAMETER);
}

function readProjectId(value: unknown, param: string): string {
  if (typeof value === "string" && PROJECT_ID.test(value)) return value;
  const message = `${param} must be the id of one of your projects.`;
  throw new Problem("invalid_request", message, { param });
}
