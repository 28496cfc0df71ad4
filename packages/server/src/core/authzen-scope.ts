/**
 * The scope of an approval by the Access Request and Approval Profile: exactly the question that
 * was denied. A denial and an approval are compared with a later question by this scope.
 *
 * @see AuthZEN Access Request and Approval Profile, draft 1, Completion Semantics
 */

import {
  canonicalJson,
  equalJson,
  JsonObject,
  type JsonValue,
  parseJson,
} from "@countersign/protocol";
import { type AuthzenQuestion, joinMembers } from "./authzen.ts";
import { sha256Hex } from "./digest.ts";
import type { StoredRequest } from "./request.ts";

/**
 * Members of the call's `authzen` that only a submission has. An evaluation cannot have them, so
 * policies do not receive them: an approval because of one would permit the question without it.
 */
const SUBMITTED = ["act", "added_context", "client", "requested_access"];

/** The context of a call that policies receive. Reviewers see the whole context. */
export function readableContext(context: JsonObject | undefined): JsonObject | undefined {
  const authzen = context?.members.get("authzen");
  if (context === undefined || !(authzen instanceof JsonObject)) return context;
  if (!SUBMITTED.some((name) => authzen.members.has(name))) return context;
  const members = new Map(context.members);
  members.set("authzen", joinMembers(withoutSubmitted(authzen)));
  return joinMembers(members);
}

function withoutSubmitted({ members }: JsonObject): Map<string, JsonValue> {
  const others = new Map(members);
  for (const name of SUBMITTED) others.delete(name);
  return others;
}

/** The members of `context` that policies received with this question, sorted. */
export function boundNames({ context }: AuthzenQuestion): readonly string[] {
  return [...context.keys()].sort();
}

/**
 * Separates the members of a context that these names include from the others. In linear time: a
 * context can have as many members as fit into a body.
 */
export function splitContext(
  context: AuthzenQuestion["context"],
  names: readonly string[],
): { readonly named: Map<string, JsonValue>; readonly others: Map<string, JsonValue> } {
  const known = new Set(names);
  const members = [...context];
  return {
    named: new Map(members.filter(([name]) => known.has(name))),
    others: new Map(members.filter(([name]) => !known.has(name))),
  };
}

/** Equal for two questions if and only if both are in one scope. */
export function scopeDigest(question: AuthzenQuestion): string {
  const { subject, action, resource, context } = question;
  const names = boundNames(question);
  const parts = [
    canonicalJson(subject),
    canonicalJson(action),
    canonicalJson(resource),
    canonicalJson(question.arguments),
    JSON.stringify(names),
    ...names.map((name) => canonicalJson(context.get(name) as JsonValue)),
  ];
  return sha256Hex(JSON.stringify(parts));
}

/**
 * True when the stored call is the one that the question is about. Each member that policies can
 * read must be equal on both sides, because another member can require more reviewers.
 */
export function isInScope(request: StoredRequest, question: AuthzenQuestion): boolean {
  if (JSON.parse(request.tool) !== question.tool || request.server !== null) return false;
  if (!equalJson(parseJson(request.arguments), question.arguments)) return false;
  const stored = request.context === null ? undefined : parseJson(request.context);
  if (!(stored instanceof JsonObject)) return false;
  const context = new Map(stored.members);
  const authzen = context.get("authzen");
  context.delete("authzen");
  if (!(authzen instanceof JsonObject)) return false;
  const { subject, action, resource, ...others } = Object.fromEntries(withoutSubmitted(authzen));
  const areObjects =
    subject instanceof JsonObject && action instanceof JsonObject && resource instanceof JsonObject;
  if (!areObjects || Object.keys(others).length > 0) return false;
  const asked = { ...question, subject, action, resource, context };
  return scopeDigest(asked) === scopeDigest(question);
}
