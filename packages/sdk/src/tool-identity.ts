/**
 * Submits tools of MCP servers to a provider without the extension `server`: with the joined name.
 *
 * @see docs/reference/extensions.md
 */

import { type JsonObject, type JsonValue, joinToolName, parseJson } from "@countersign/protocol";
import type { Submission } from "./answer.ts";
import { SdkError } from "./errors.ts";

/** The submission for a provider that does not record servers. */
export function joinIdentity(submission: Submission): Submission {
  const { tool, server, context } = submission;
  if (server === undefined) return submission;
  return {
    ...submission,
    tool: joinToolName(server, tool),
    server: undefined,
    context: withMembers(context, { server, server_tool: tool }),
  };
}

/** True if the provider refused a submission because of its member `server`. */
export function refusesServer(error: unknown): boolean {
  return error instanceof SdkError && error.status === 400 && error.param === "server";
}

/** Adds members. A member that the object has already is kept. */
function withMembers(
  object: JsonObject | undefined,
  added: Readonly<Record<string, string>>,
): JsonObject {
  const members = object?.members ?? new Map<string, JsonValue>();
  const missing = Object.entries(added).filter(([name]) => !members.has(name));
  const texts = missing.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const before = object?.source.trim().slice(1, -1).trim() ?? "";
  const all = before === "" ? texts : [...texts, before];
  return parseJson(`{${all.join(",")}}`) as JsonObject;
}
