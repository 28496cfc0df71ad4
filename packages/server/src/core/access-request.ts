/**
 * Reads a submission of the Access Request and Approval Profile. The server accepts one call for
 * each submission, and no callbacks.
 *
 * @see AuthZEN Access Request and Approval Profile, draft 1, Access Request Submission
 */

import { invalidField, JsonObject, type JsonValue, Problem } from "@countersign/protocol";
import { type AuthzenQuestion, optionalObject, parseQuestion } from "./authzen.ts";

/** Unchecked; undefined members are missing or malformed. */
export interface SubmittedDenial {
  readonly bindingToken: string | undefined;
  readonly expiresAt: string | undefined;
}

export interface AccessRequest {
  readonly question: AuthzenQuestion;
  /** Undefined: the submission has no denial. */
  readonly denial: SubmittedDenial | undefined;
  /** Shown to reviewers: `act` of the subject, `requested_access` and `client`. */
  readonly extras: ReadonlyMap<string, JsonValue>;
}

/**
 * @param instanceId the caller
 * @throws Problem `invalid_request` for a malformed submission or one with an unsupported part,
 * `forbidden` for another actor than the caller
 */
export function parseAccessRequest(body: JsonValue, instanceId: string): AccessRequest {
  if (body instanceof JsonObject) {
    rejectMember(body, "items", "Send one submission for each call.");
    rejectMember(
      body,
      "callback",
      "Poll task.status_endpoint, or provision the instance with a webhook.",
    );
  }
  const question = parseQuestion(body);
  const { members } = body as JsonObject;
  const requested = optionalObject(members, "requested_access");
  const client = optionalObject(members, "client");
  if (client !== undefined) assertOwnActor(client, instanceId);
  const extras = new Map<string, JsonValue>();
  if (question.act !== undefined) extras.set("act", question.act);
  if (requested !== undefined) extras.set("requested_access", requested);
  if (client !== undefined) extras.set("client", client);
  return { question, denial: readDenial(optionalObject(members, "denial")), extras };
}

function rejectMember({ members }: JsonObject, name: string, instead: string): void {
  if (!members.has(name)) return;
  const message = `This server does not support ${name}. ${instead}`;
  throw new Problem("invalid_request", message, { param: name });
}

/** The credential proves only the instance, so no other actor can be verified. */
function assertOwnActor({ members }: JsonObject, instanceId: string): void {
  const actor = optionalObject(members, "actor", "client.actor");
  if (actor === undefined) return;
  if (actor.members.get("id") === instanceId && !actor.members.has("act")) return;
  const message =
    "client.actor must be the instance of the credential. Omit it, or send subject.properties.act.";
  throw new Problem("forbidden", message, { param: "client.actor" });
}

function readDenial(denial: JsonObject | undefined): SubmittedDenial | undefined {
  if (denial === undefined) return undefined;
  const text = (name: string): string | undefined => {
    const value = denial.members.get(name);
    return typeof value === "string" ? value : undefined;
  };
  return { bindingToken: text("binding_token"), expiresAt: text("expires_at") };
}

/**
 * Checks the optional body of a cancellation. Its texts are not stored.
 *
 * @throws Problem `invalid_request`
 */
export function parseCancellation(body: JsonValue): void {
  if (!(body instanceof JsonObject)) throw invalidField("body", "must be a JSON object");
  for (const name of ["reason", "comment"]) {
    const value = body.members.get(name);
    if (value !== undefined && typeof value !== "string") {
      throw invalidField(name, "must be a string");
    }
  }
}
