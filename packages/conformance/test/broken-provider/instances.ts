/**
 * The four operations of provisioners.
 */

import { randomBytes, randomUUID } from "node:crypto";
import {
  JsonObject,
  type JsonValue,
  type OperationName,
  Problem,
  type UpdateInstanceInput,
} from "@countersign/protocol";
import type { Ledger } from "./conduct.ts";
import type { Caller, Kept, Receiver, StoredInstance } from "./ledger.ts";
import { receiverChanged } from "./notifications.ts";
import { verifyReceiver } from "./receivers.ts";
import { type Done, resolve } from "./requests.ts";
import { instanceText, provisionedText } from "./wire.ts";

export async function provisionInstance(
  ledger: Ledger,
  caller: Caller,
  key: string,
  body: JsonValue,
): Promise<Done> {
  const { conduct, options, provisionings } = ledger;
  const { instanceName, delivery } = conduct.readProvision(body, rulesOf(ledger));
  const scope = conduct.provisionScope(caller, key);
  const kept = provisionings.get(scope);
  if (kept !== undefined) {
    const replay = await replayed(ledger, "provisionInstance", kept, body, delivery);
    if (!replay.instance.isDeleted) return repeat(ledger, replay);
    const effect = conduct.replayDeleted(replay.instance);
    if (effect === "conflict") throw new Problem("instance_deleted");
    if (effect === "restore") restore(replay.instance);
    return repeat(ledger, replay);
  }
  const pause = conduct.pause("provisionInstance");
  if (pause !== undefined) await pause;
  const id = randomUUID();
  const project = caller.kind === "provisioner" ? caller.provisioner.project : "";
  const instance: StoredInstance = {
    id,
    project,
    token: `instance_${randomBytes(24).toString("base64url")}`,
    credentialExpiresAt: options.credentialMs && Date.now() + options.credentialMs,
    name: instanceName ?? conduct.assignName(id),
    receiver: undefined,
    isDeleted: false,
    isRevoked: false,
  };
  return commit(ledger, provisionings, scope, body, instance, 201, async () => {
    if (conduct.commitsFirst()) ledger.instances.set(id, instance);
    if (delivery !== undefined) await verifyReceiver(ledger, instance, delivery);
    instance.receiver = delivery;
    ledger.instances.set(id, instance);
    return provisionedText(ledger, instance);
  });
}

export function readInstance(ledger: Ledger, caller: Caller, id: string): Done {
  const instance = reach(ledger, caller, id);
  if (isForgotten(ledger, instance)) throw new Problem("not_found");
  return { status: 200, text: instanceText(ledger, instance), isReplay: false };
}

export async function updateInstance(
  ledger: Ledger,
  caller: Caller,
  id: string,
  key: string,
  body: JsonValue,
): Promise<Done> {
  const { conduct, updates } = ledger;
  const instance = reach(ledger, caller, id);
  if (conduct.renamesFirst()) instance.name = nameIn(body) ?? instance.name;
  const input = conduct.readUpdate(body, rulesOf(ledger));
  if (instance.isDeleted) {
    const effect = conduct.updateDeleted(instance);
    if (effect === "refuse") throw new Problem("not_found");
    if (effect === "restore") restore(instance);
  }
  const scope = conduct.updateScope(caller, instance, key);
  const kept = updates.get(scope);
  if (kept !== undefined) {
    const replay = await replayed(ledger, "updateInstance", kept, body, input.delivery);
    return repeat(ledger, replay);
  }
  const pause = conduct.pause("updateInstance");
  if (pause !== undefined) await pause;
  return commit(ledger, updates, scope, body, instance, 200, () =>
    applyUpdate(ledger, instance, input),
  );
}

async function applyUpdate(
  ledger: Ledger,
  instance: StoredInstance,
  { instanceName, delivery }: UpdateInstanceInput,
): Promise<string> {
  const { conduct } = ledger;
  if (delivery) await verifyReceiver(ledger, instance, delivery);
  if (instance.isDeleted) {
    const effect = conduct.updateDeleted(instance);
    if (effect === "refuse") throw new Problem("not_found");
    if (effect === "restore") restore(instance);
  }
  instance.name = instanceName ?? instance.name;
  if (delivery !== undefined) {
    instance.receiver = delivery ?? undefined;
    receiverChanged(ledger, instance.id);
  }
  return instanceText(ledger, instance);
}

export function deleteInstance(ledger: Ledger, caller: Caller, id: string): Done {
  const { conduct } = ledger;
  const done = (status: 204 | 404): Done => {
    if (status === 404) throw new Problem("not_found");
    return { status, text: undefined, isReplay: false };
  };
  const found = ledger.instances.get(conduct.pathId(id) ?? "");
  if (found === undefined) return done(conduct.deleteUnknown());
  const instance = reach(ledger, caller, id);
  if (instance.isDeleted) return done(conduct.deleteRepeated());
  instance.isDeleted = true;
  instance.isRevoked = conduct.deletion.has("revoke");
  if (conduct.deletion.has("cancel")) {
    for (const request of ledger.requests.values()) {
      if (request.instance !== instance || request.decision !== undefined) continue;
      const cause = conduct.deletion.has("notify") ? "cancel" : "deletion";
      resolve(ledger, request, "cancelled", cause);
    }
  }
  if (conduct.deletion.has("end-delivery")) {
    instance.receiver = undefined;
    receiverChanged(ledger, instance.id);
  }
  return done(204);
}

interface Replay {
  readonly instance: StoredInstance;
  readonly text: string;
}

/** @throws Problem `idempotency_conflict`, or what the first attempt was refused with */
async function replayed(
  ledger: Ledger,
  operation: OperationName,
  kept: Kept,
  body: JsonValue,
  delivery: Receiver | null | undefined,
): Promise<Replay> {
  if (!ledger.conduct.isSameInput(operation, kept.body, body)) {
    throw new Problem("idempotency_conflict");
  }
  const replay = await kept.result;
  if (delivery && ledger.conduct.verifiesReplay(operation)) {
    await verifyReceiver(ledger, replay.instance, delivery);
  }
  return replay;
}

function repeat(ledger: Ledger, { instance, text }: Replay): Done {
  const shown = ledger.conduct.replayText(text, instance, ledger);
  return { status: 200, text: shown, isReplay: true };
}

/** Does it once for all that come with the key meanwhile; a failure frees the key. */
async function commit(
  { conduct }: Ledger,
  keys: Map<string, Kept>,
  scope: string,
  body: JsonValue,
  instance: StoredInstance,
  status: number,
  work: () => Promise<string>,
): Promise<Done> {
  const result = work().then((text) => ({ instance, text }));
  // Waiting callers receive the failure. This handler prevents an unhandled rejection.
  result.catch(() => undefined);
  keys.set(scope, { body, result });
  try {
    return { status, text: (await result).text, isReplay: false };
  } catch (error) {
    if (!conduct.keepsFailed()) keys.delete(scope);
    throw error;
  }
}

function nameIn(body: JsonValue): string | undefined {
  const name = body instanceof JsonObject ? body.members.get("instance_name") : undefined;
  return typeof name === "string" ? name : undefined;
}

function restore(instance: StoredInstance): void {
  instance.isDeleted = false;
  instance.isRevoked = false;
}

function isForgotten({ conduct }: Ledger, { isDeleted }: StoredInstance): boolean {
  return isDeleted && conduct.deletion.has("forget");
}

/** @throws Problem `not_found` */
function reach(ledger: Ledger, caller: Caller, id: string): StoredInstance {
  const instance = ledger.instances.get(ledger.conduct.pathId(id) ?? "");
  if (instance !== undefined && ledger.conduct.reachesInstance(caller, instance)) return instance;
  throw new Problem("not_found");
}

/** The parser judges the text of a URL; what its name resolves to is judged when it is used. */
function rulesOf({ options }: Ledger) {
  return { webhooks: options.webhooks, internalNames: true };
}
