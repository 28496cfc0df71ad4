/**
 * A scene with enabled extensions, its calls, and the rules of a consumption. These rules are the
 * same on the contract's path and on the agent surface.
 */

import assert from "node:assert/strict";
import type {
  ApprovalRequest,
  ConsumedApproval,
  ErrorResponse,
  ExtendedApprovalRequest,
} from "@countersign/protocol";
import { assertRefused } from "./envelope.ts";
import { freeze, lift } from "./freezes.ts";
import { end, type Scene, startScene } from "./scene.ts";
import type { Answer, Lifetime } from "./test-provider.ts";

export const ALL_EXTENSIONS = "consume,outcome,server";

export function startExtended(
  t: Lifetime,
  extensions: string = ALL_EXTENSIONS,
  options: Parameters<typeof startScene>[1] = {},
): Promise<Scene> {
  return startScene(t, { ...options, settings: { ...options.settings, extensions } });
}

/** A new request that the reviewer approved. */
export async function approved(scene: Scene, fields: object = {}): Promise<ApprovalRequest> {
  const request = await scene.server.submit(scene.instance.token, fields);
  return end(scene, request, "approved");
}

/** Epoch ms at which the approval expires. */
export function expiryOf({ decision }: ApprovalRequest): number {
  return Date.parse(decision?.expires_at ?? "");
}

export type Extended = Answer<ExtendedApprovalRequest>;

type Calling = Pick<Scene, "server" | "instance">;

export function consumeCall(
  { server, instance: { token } }: Calling,
  id: string,
  key: string,
): Promise<Extended> {
  return server.call("POST", `/v1/requests/${id}/consume`, { token, key });
}

/** Consumes on the agent surface, which needs no extension. */
export function consumeOnAgentSurface(
  { server, instance: { token } }: Calling,
  id: string,
  key: string,
): Promise<Answer<ConsumedApproval>> {
  return server.call("POST", `/agent/v1/requests/${id}/consume`, { token, key });
}

/** Consumes on one of the two paths. */
type Consume = (scene: Calling, id: string, key: string) => Promise<Answer>;

export async function assertOneOfTwentyKeysConsumes(scene: Scene, consume: Consume): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const { id } = await approved(scene);
    const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`);
    const answers = await Promise.all(keys.map((key) => consume(scene, id, key)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    const refused = answers.filter(({ status }) => status !== 200);
    for (const answer of refused) assertRefused(answer, 409, "already_consumed");
    assert.equal((await consumed(scene, id)).length, 1);
  }
}

export async function assertTwentyWithOneKeyAgree(scene: Scene, consume: Consume): Promise<void> {
  const { id } = await approved(scene);
  const all = Array.from({ length: 20 }, () => consume(scene, id, "one"));
  const answers = await Promise.all(all);
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  assert.equal((await consumed(scene, id)).length, 1);
}

export async function assertBlockedByFreeze(scene: Scene, consume: Consume): Promise<void> {
  const { server, instance } = scene;
  const { id } = await approved(scene);
  const admin = await server.token({ kind: "reviewer", role: "admin", name: "admin" });
  const frozen = await freeze(server, admin, { scope: "instance", instance_id: instance.id });
  assert.equal(frozen.status, 201, frozen.text);
  assertRefused(await consume(scene, id, "once"), 409, "calls_frozen");
  const lifted = await lift(server, admin, frozen.json.id);
  assert.equal(lifted.status, 200, lifted.text);
  assert.equal((await consume(scene, id, "once")).status, 200);
}

export function reportCall(
  { server, instance: { token } }: Calling,
  id: string,
  body: object,
): Promise<Extended> {
  return server.call("POST", `/v1/requests/${id}/outcome`, { token, body });
}

/** The code of an error; undefined for other answers. */
export function codeOf({ json }: Answer): string | undefined {
  return (json as Partial<ErrorResponse>).error?.code;
}

/** The audit entries about the consumption of a request. */
export async function consumed({ server }: Pick<Scene, "server">, id: string): Promise<object[]> {
  const sql = "select id from audit_entry where subject = $1 and kind = 'approval.consumed'";
  return server.provider.context.store.all(sql, [`request:${id}`]);
}
