/** The error codes that an operation can answer: its own, and those that follow from its row. */

import type { ProblemCode } from "@countersign/protocol";
import type { Operation } from "./operation.ts";

const ALWAYS: readonly ProblemCode[] = [
  "invalid_request",
  "cross_origin",
  "rate_limited",
  "unavailable",
  "internal",
];

const WITH_BODY: readonly ProblemCode[] = [
  "invalid_json",
  "duplicate_key",
  "too_deep",
  "number_too_long",
];

const WITH_CREDENTIAL: readonly ProblemCode[] = ["invalid_credential", "wrong_credential_kind"];

/** All codes that an operation can answer, each once. */
export function possibleErrors(row: Operation): readonly ProblemCode[] {
  const codes = new Set<ProblemCode>(ALWAYS);
  if (row.method !== "GET") codes.add("body_too_large");
  if (row.body !== undefined) for (const code of WITH_BODY) codes.add(code);
  if (row.caller !== "anonymous") for (const code of WITH_CREDENTIAL) codes.add(code);
  // Of the project that the call names.
  if (row.caller !== "anonymous") codes.add("not_found");
  if (row.caller === "reviewer") codes.add("forbidden");
  if (row.fresh === true) codes.add("stale_sign_in");
  for (const code of row.errors) codes.add(code);
  return [...codes];
}
