/**
 * Calls to a replica as http/contract-routes.ts and the reviewer's routes make them, without HTTP:
 * the same credentials, parsers, operations and wire.
 */

import {
  JsonObject,
  Problem,
  parseCreateApprovalRequest,
  parseJsonBytes,
  parseProvisionInstance,
  parseUpdateInstance,
} from "@countersign/protocol";
import type { Context } from "../../packages/server/src/context.ts";
import { sha256Hex } from "../../packages/server/src/core/digest.ts";
import { Failure } from "../../packages/server/src/failure.ts";
import {
  writeApprovalRequest,
  writeInstance,
  writeProvisioning,
} from "../../packages/server/src/http/wire.ts";
import type {
  Caller,
  InstanceCaller,
  ReviewerCaller,
} from "../../packages/server/src/identity/caller.ts";
import { authenticateCaller } from "../../packages/server/src/operations/access/authenticateCaller.ts";
import { retryDelivery } from "../../packages/server/src/operations/deliveries/retryDelivery.ts";
import { freezeCalls } from "../../packages/server/src/operations/freezes/freezeCalls.ts";
import { liftFreeze } from "../../packages/server/src/operations/freezes/liftFreeze.ts";
import { deleteInstance } from "../../packages/server/src/operations/instances/deleteInstance.ts";
import { getInstance } from "../../packages/server/src/operations/instances/getInstance.ts";
import { provisionInstance } from "../../packages/server/src/operations/instances/provisionInstance.ts";
import { updateInstance } from "../../packages/server/src/operations/instances/updateInstance.ts";
import { publishPolicy } from "../../packages/server/src/operations/policy/publishPolicy.ts";
import { cancelApprovalRequest } from "../../packages/server/src/operations/requests/cancelApprovalRequest.ts";
import { castVerdict } from "../../packages/server/src/operations/requests/castVerdict.ts";
import { createApprovalRequest } from "../../packages/server/src/operations/requests/createApprovalRequest.ts";
import { getApprovalRequest } from "../../packages/server/src/operations/requests/getApprovalRequest.ts";
import { withdrawVote } from "../../packages/server/src/operations/requests/withdrawVote.ts";

interface Authorized {
  readonly token: string;
}

/** A call to a replica. */
export type Call = Authorized &
  (
    | { readonly kind: "provision"; readonly key: string; readonly body: string }
    | { readonly kind: "show"; readonly id: string }
    | { readonly kind: "update"; readonly id: string; readonly key: string; readonly body: string }
    | { readonly kind: "delete"; readonly id: string }
    | { readonly kind: "create"; readonly key: string; readonly body: string }
    | { readonly kind: "get"; readonly id: string; readonly waitMs: number }
    | { readonly kind: "cancel"; readonly id: string }
    | {
        readonly kind: "verdict";
        readonly id: string;
        readonly verdict: "approve" | "deny";
        readonly args: string;
        readonly validityMs: number | undefined;
        readonly holdMs: number | undefined;
      }
    | { readonly kind: "withdraw"; readonly id: string }
    | { readonly kind: "retry"; readonly id: string }
    | { readonly kind: "freeze"; readonly instanceId: string }
    | { readonly kind: "lift"; readonly id: string }
    | { readonly kind: "publish"; readonly source: string; readonly expected: number }
  );

export interface Answer {
  /** 0 when there was none: the exchange was lost. */
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
}

/** The response to an unexpected error. */
export type OnBug = (error: unknown) => void;

/** Plays one exchange; whatever happens in it is an answer. */
export async function exchange(context: Context, call: Call, onBug: OnBug): Promise<Answer> {
  try {
    const caller = await authenticateCaller(context, `Bearer ${call.token}`);
    const [status, text] = await perform(context, caller, call);
    return { status, code: undefined, text };
  } catch (error) {
    if (error instanceof Problem) {
      return { status: error.status, code: error.code, text: error.message };
    }
    if (error instanceof Failure) return { status: 503, code: "unavailable", text: "" };
    onBug(error);
    return { status: 500, code: "internal", text: "" };
  }
}

type Done = readonly [status: number, text: string];

async function perform(context: Context, caller: Caller, call: Call): Promise<Done> {
  if (caller.kind === "provisioner") {
    const rules = { webhooks: true, internalNames: false };
    if (call.kind === "provision") {
      const input = parseProvisionInstance(bodyOf(call), rules);
      const proposed = { ...input, refusal: undefined };
      const done = await provisionInstance(context, caller, proposed, call.key);
      const status = done.outcome === "created" ? 201 : 200;
      return [status, writeProvisioning(done.instance, done.token)];
    }
    if (call.kind === "update") {
      const proposed = { ...parseUpdateInstance(bodyOf(call), rules), refusal: undefined };
      const instance = await updateInstance(context, caller, call.id, proposed, call.key);
      return [200, writeInstance(instance)];
    }
    if (call.kind === "show")
      return [200, writeInstance(await getInstance(context, caller, call.id))];
    if (call.kind === "delete") {
      await deleteInstance(context, caller, call.id);
      return [204, ""];
    }
  }
  if (caller.kind === "instance") return performForInstance(context, caller, call);
  if (caller.kind === "reviewer") return performForReviewer(context, caller, call);
  throw new Problem("wrong_credential_kind");
}

async function performForInstance(
  context: Context,
  caller: InstanceCaller,
  call: Call,
): Promise<Done> {
  if (call.kind === "create") {
    const input = parseCreateApprovalRequest(bodyOf(call));
    const { outcome, request } = await createApprovalRequest(context, caller, input, call.key);
    return [outcome === "created" ? 201 : 200, writeApprovalRequest(request)];
  }
  if (call.kind === "get") {
    const { id, waitMs } = call;
    // The caller disconnects only with the whole exchange.
    const waiting = waitMs === 0 ? undefined : { waitMs, onDisconnect: () => {} };
    return [200, writeApprovalRequest(await getApprovalRequest(context, caller, id, waiting))];
  }
  if (call.kind === "cancel") {
    return [200, writeApprovalRequest(await cancelApprovalRequest(context, caller, call.id))];
  }
  throw new Problem("wrong_credential_kind");
}

async function performForReviewer(
  context: Context,
  caller: ReviewerCaller,
  call: Call,
): Promise<Done> {
  if (call.kind === "verdict") {
    const request = await castVerdict(context, caller, call.id, {
      verdict: call.verdict,
      argumentsSha256: sha256Hex(call.args),
      note: undefined,
      confirmation: undefined,
      validityMs: call.validityMs,
      holdMs: call.holdMs,
    });
    return [200, writeApprovalRequest(request)];
  }
  if (call.kind === "withdraw") {
    return [200, String(await withdrawVote(context, caller, call.id))];
  }
  if (call.kind === "retry") {
    await retryDelivery(context, caller, call.id);
    return [200, ""];
  }
  if (call.kind === "freeze") {
    const { instanceId } = call;
    const order = { scope: "instance", instanceId, note: undefined } as const;
    const frozen = await freezeCalls(context, caller, order);
    return [200, frozen.freeze.id];
  }
  if (call.kind === "lift") {
    await liftFreeze(context, caller, call.id);
    return [200, ""];
  }
  if (call.kind === "publish") {
    const { source, expected: expectedNumber } = call;
    const publication = { scope: "project", source, expectedNumber, note: null } as const;
    const { version } = await publishPolicy(context, caller, publication);
    return [200, String(version.number)];
  }
  throw new Problem("wrong_credential_kind");
}

function bodyOf({ body }: { readonly body: string }): JsonObject {
  const parsed = parseJsonBytes(Buffer.from(body));
  if (!(parsed instanceof JsonObject)) throw new Problem("invalid_json");
  return parsed;
}
