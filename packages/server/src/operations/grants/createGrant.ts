import { JsonObject, Problem, parseJson, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Settings } from "../../config/settings.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import type { GrantTerms, StoredGrant } from "../../core/grant.ts";
import type { StoredRequest } from "../../core/request.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { escapeGlob, sessionOf, termsFault, turnOf } from "../../policy/grant-terms.ts";
import { hashIdempotencyKey } from "../../secrets/keyring.ts";
import { type ReviewedGrant, reviewGrant } from "../../steps/grants/reviewGrants.ts";
import { GRANTS_PER_INSTANCE_MAX } from "../../steps/grants/useGrant.ts";
import { insertGrant, readActiveGrants, readGrant } from "../../storage/sql/grants/grants.ts";
import { lockInstance } from "../../storage/sql/instances/instances.ts";
import type { ScopedKey } from "../../storage/sql/keys.ts";
import {
  insertResult,
  readResult,
  type StoredResult,
} from "../../storage/sql/requests/idempotency.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";

export interface GrantOrder {
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
  readonly note: string | undefined;
  readonly validityMs: number | undefined;
  readonly callsMax: number;
  readonly lastsMs: number;
}

export interface CreatedGrant extends ReviewedGrant {
  /** False when the key was used before. The answer is the current state of that grant. */
  readonly isNew: boolean;
}

/**
 * Creates a grant for calls of an instance. It applies the reviewer's permissions at the time of
 * each call, and decides no pending request.
 *
 * @param idempotencyKey of this reviewer; undefined: every call creates a grant
 * @throws Problem `forbidden`; `not_found` for a request or an instance outside the project;
 * `invalid_request` naming the field; `idempotency_conflict` when the key was used with other input
 */
export async function createGrant(
  context: Context,
  caller: ReviewerCaller,
  order: GrantOrder,
  idempotencyKey?: string,
): Promise<CreatedGrant> {
  assertMay(caller, "decide");
  const { projectId } = caller;
  const key =
    idempotencyKey === undefined ? undefined : keyOf(context, caller, order, idempotencyKey);
  const { grant, isNew } = await context.store.transact(async (tx) => {
    const known = key && (await readKnown(tx, key));
    if (known !== undefined) return { grant: known, isNew: false };
    const { instanceId, terms } = await completed(tx, projectId, order);
    assertTerms(terms, context.settings);
    // Excludes all other transactions, so that none creates a grant during the count.
    const instance = await lockInstance(tx, "update", { projectId, instanceId });
    if (instance === undefined || instance.deletedAt !== null) throw new Problem("not_found");
    const now = await tx.now();
    const made = newGrant(context, caller, order, { instanceId, terms }, now);
    if (key !== undefined && !(await insertResult(tx, resultOf(key, made)))) {
      // A concurrent exchange with the same key has committed.
      const winner = await readKnown(tx, key);
      if (winner === undefined) throw new Error("a used key has no grant");
      return { grant: winner, isNew: false };
    }
    await assertRoom(tx, { projectId, instanceId }, now);
    await insertGrant(tx, made);
    await record(tx, context, made);
    return { grant: made, isNew: true };
  });
  return { ...(await reviewGrant(context.store, grant)), isNew };
}

interface GrantKey extends ScopedKey {
  readonly fingerprint: string;
}

function keyOf(
  { keyring }: Context,
  { projectId, reviewerId }: ReviewerCaller,
  order: GrantOrder,
  idempotencyKey: string,
): GrantKey {
  return {
    projectId,
    scope: `grant:${reviewerId}`,
    keyHash: hashIdempotencyKey(idempotencyKey),
    fingerprint: keyring.fingerprint(JSON.stringify(order)),
  };
}

/**
 * The grant of this key.
 *
 * @throws Problem `idempotency_conflict`
 */
async function readKnown(tx: Transaction, key: GrantKey): Promise<StoredGrant | undefined> {
  const stored = await readResult(tx, key);
  if (stored === undefined) return undefined;
  if (stored.fingerprint !== key.fingerprint) throw new Problem("idempotency_conflict");
  const { projectId } = key;
  return readGrant(tx, { projectId, id: JSON.parse(stored.result) as string });
}

function resultOf(key: GrantKey, { id, instanceId, createdAt }: StoredGrant): StoredResult {
  return { ...key, instanceId, result: JSON.stringify(id), encryptedCredential: null, createdAt };
}

interface Completed {
  readonly instanceId: string;
  readonly terms: GrantTerms;
}

async function completed(
  tx: Transaction,
  projectId: string,
  order: GrantOrder,
): Promise<Completed> {
  const { fromRequest, when, note, validityMs } = order;
  const request =
    fromRequest === undefined ? undefined : await readRequest(tx, { projectId, id: fromRequest });
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
  return { instanceId, terms };
}

type GrantScope = Pick<GrantTerms, "session" | "turn">;

/** The session and the turn to which the grant is limited. */
function scopeOf(
  { session, turn, sameTurn }: GrantOrder,
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

async function assertRoom(
  tx: Transaction,
  instance: Parameters<typeof readActiveGrants>[1],
  now: number,
): Promise<void> {
  const active = await readActiveGrants(tx, instance, now, GRANTS_PER_INSTANCE_MAX);
  if (active.length < GRANTS_PER_INSTANCE_MAX) return;
  const count = `The instance has ${GRANTS_PER_INSTANCE_MAX} active grants`;
  const message = `${count}, which is the maximum. Revoke one first.`;
  throw new Problem("invalid_request", message, { param: "instance_id" });
}

function newGrant(
  { random }: Context,
  { projectId, reviewerId }: ReviewerCaller,
  { callsMax, lastsMs }: GrantOrder,
  { instanceId, terms }: Completed,
  now: number,
): StoredGrant {
  return {
    id: uuidV7(now, random.bytes(10)),
    projectId,
    instanceId,
    reviewerId,
    terms,
    createdAt: now,
    expiresAt: now + lastsMs,
    callsMax,
    calls: 0,
    revokedAt: null,
    revokedBy: null,
  };
}

async function record(tx: Transaction, { random }: Context, grant: StoredGrant): Promise<void> {
  await appendAudit(tx, random, {
    at: grant.createdAt,
    projectId: grant.projectId,
    kind: "grant.made",
    actor: `reviewer:${grant.reviewerId}`,
    subject: `grant:${grant.id}`,
    detail: {
      instance_id: grant.instanceId,
      terms_sha256: sha256Hex(JSON.stringify(grant.terms)),
      calls_max: grant.callsMax,
      expires_at: grant.expiresAt,
    },
  });
}
