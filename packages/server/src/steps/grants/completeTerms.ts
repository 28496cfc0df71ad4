/** Completes the terms that a reviewer states for a grant. */

import { JsonObject, Problem, parseJson } from "@countersign/protocol";
import { escapeGlob } from "@countersign/review-api/policy-text";
import type { Settings } from "../../config/settings.ts";
import type { GrantTerms } from "../../core/grant.ts";
import type { StoredRequest } from "../../core/request.ts";
import { sessionOf, termsFault, turnOf } from "../../policy/grant-terms.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";
import type { Reader } from "../../storage/store.ts";

/** The terms that a reviewer states for a grant. */
export interface TermsOrder {
  /** A request of the project with the defaults for instance, tool, server and session. */
  readonly fromRequest: string | undefined;
  readonly instanceId: string | undefined;
  readonly tool: string | undefined;
  readonly server: string | undefined;
  /** Excludes `server`. */
  readonly anyServer: true | undefined;
  readonly when: string | undefined;
  /** Null: any session, even when the request has one. */
  readonly session: string | null | undefined;
  /** A turn of the session. */
  readonly turn: string | undefined;
  /** The session and the turn of the request; excludes `session` and `turn`. */
  readonly sameTurn: true | undefined;
  readonly note?: string | undefined;
  readonly validityMs?: number | undefined;
}

/** The instance of a grant and its terms. */
export interface CompleteTerms {
  readonly instanceId: string;
  readonly terms: GrantTerms;
}

/**
 * The terms of a grant, with what its request provides.
 *
 * @throws Problem `not_found` for a request outside the project; `invalid_request` naming the field
 */
export async function completeTerms(
  reader: Reader,
  settings: Settings,
  projectId: string,
  order: TermsOrder,
): Promise<CompleteTerms> {
  const { fromRequest, when, note, validityMs } = order;
  const request =
    fromRequest === undefined
      ? undefined
      : await readRequest(reader, { projectId, id: fromRequest });
  if (fromRequest !== undefined && request === undefined) throw new Problem("not_found");
  const instanceId = order.instanceId ?? request?.instanceId;
  if (instanceId === undefined) throw missing("instance_id");
  if (request !== undefined && instanceId !== request.instanceId) {
    const message = "instance_id must be the instance of from_request.";
    throw new Problem("invalid_request", message, { param: "instance_id" });
  }
  const tool = order.tool ?? (request && escapeGlob(JSON.parse(request.tool) as string));
  if (tool === undefined) throw missing("tool");
  const server = order.anyServer ? undefined : (order.server ?? (request && serverIn(request)));
  const terms = {
    tool,
    ...(server !== undefined && { server }),
    ...(order.anyServer && { anyServer: order.anyServer }),
    ...(when !== undefined && { when }),
    ...scopeOf(order, request),
    ...(note !== undefined && { note }),
    ...(validityMs !== undefined && { validityMs }),
  };
  assertTerms(terms, settings);
  return { instanceId, terms };
}

type GrantScope = Pick<GrantTerms, "session" | "turn">;

/** The session and the turn to which the grant is limited. */
function scopeOf(
  { session, turn, sameTurn }: TermsOrder,
  request: StoredRequest | undefined,
): GrantScope {
  const context = request === undefined ? undefined : contextOf(request);
  if (sameTurn) return turnScope(context, request);
  const chosen = session === undefined ? sessionOf({ context }) : session;
  if (typeof chosen === "string") {
    return { session: chosen, ...(turn !== undefined && { turn }) };
  }
  if (turn === undefined) return {};
  throw invalidTurn("turn", "requires a session. Add session with the session_id of the calls.");
}

/** @throws Problem `invalid_request` when the request has no session or no turn */
function turnScope(
  context: JsonObject | undefined,
  request: StoredRequest | undefined,
): GrantScope {
  if (request === undefined) {
    throw invalidTurn("same_turn", "requires from_request. Add it, or use session and turn.");
  }
  const session = sessionOf({ context });
  if (session === undefined || session === "") {
    throw invalidTurn(
      "same_turn",
      "requires context.session_id in the request. Create a grant without same_turn, or change " +
        "the adapter so that it sends session_id and turn_id.",
    );
  }
  const turn = turnOf({ context });
  if (turn !== undefined) return { session, turn };
  throw invalidTurn(
    "same_turn",
    "requires context.turn_id or context.prompt_id in the request. Create a grant for the " +
      "session instead: omit same_turn.",
  );
}

function invalidTurn(param: "turn" | "same_turn", message: string): Problem {
  return new Problem("invalid_request", `${param} ${message}`, { param });
}

function contextOf({ context }: StoredRequest): JsonObject | undefined {
  const value = context === null ? undefined : parseJson(context);
  return value instanceof JsonObject ? value : undefined;
}

function serverIn({ server }: StoredRequest): string | undefined {
  return server === null ? undefined : (JSON.parse(server) as string);
}

function missing(param: string): Problem {
  const message = `${param} is required, unless from_request is given.`;
  return new Problem("invalid_request", message, { param });
}

function assertTerms(terms: GrantTerms, { validityMsMin, validityMsMax }: Settings): void {
  const fault = termsFault(terms);
  if (fault !== undefined) {
    const message = `${fault.field} ${fault.message}.`;
    throw new Problem("invalid_request", message, { param: fault.field });
  }
  const { validityMs = validityMsMin } = terms;
  if (validityMs < validityMsMin || validityMs > validityMsMax) {
    const bounds = `${validityMsMin / 1000}s and ${validityMsMax / 1000}s`;
    throw new Problem("invalid_request", `valid_for must be between ${bounds}.`, {
      param: "valid_for",
    });
  }
}
