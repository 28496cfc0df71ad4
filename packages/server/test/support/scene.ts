/**
 * A provider with an instance that asks, a reviewer who decides and a stopped clock: the setup of
 * most tests about requests.
 */

import assert from "node:assert/strict";
import type { ApprovalRequest, RequestStatus, TerminalStatus } from "@countersign/protocol";
import { asInserted } from "./engine.ts";
import { ManualClock } from "./manual-clock.ts";
import {
  type Answer,
  type Lifetime,
  startTestProvider,
  type TestProvider,
  type TestProviderOptions,
} from "./test-provider.ts";
import { until } from "./until.ts";

export interface Scene {
  readonly server: TestProvider;
  readonly clock: ManualClock;
  readonly instance: { readonly id: string; readonly token: string; readonly provisioner: string };
  readonly reviewer: string;
}

/** A valid id that no request has. */
export const UNKNOWN_ID = "019c0000-0000-7000-8000-000000000000";

/** The clock does not advance, so a rate would never refill. */
export const NO_RATES = {
  instance_rate: "0",
  account_submission_rate: "0",
  provisioner_rate: "0",
  reviewer_rate: "0",
  unauthenticated_rate: "0",
};

export async function startScene(
  t: Lifetime,
  options: TestProviderOptions & { readonly clock?: ManualClock } = {},
): Promise<Scene> {
  const { clock = new ManualClock(), settings, ...rest } = options;
  const server = await startTestProvider(t, {
    ...rest,
    clock,
    settings: { ...NO_RATES, ...settings },
  });
  const instance = await server.instance();
  const reviewer = await server.token({ kind: "reviewer" });
  return { server, clock, instance, reviewer };
}

/** The same scene after a restart of its server, perhaps with other settings. */
export async function restart(
  t: Lifetime,
  { server: before, clock, ...rest }: Scene,
  settings: Readonly<Record<string, string>> = {},
  options: Pick<TestProviderOptions, "ca" | "environment"> = {},
): Promise<Scene> {
  await before.stop();
  const server = await startTestProvider(t, {
    ...options,
    clock,
    data: before.data,
    settings: { ...NO_RATES, ...settings },
  });
  return { ...rest, clock, server };
}

export const TERMINAL = ["approved", "denied", "expired", "cancelled"] as const;

/** Ends a pending request in one of the four ways and answers how its instance reads it then. */
export async function end(
  { server, clock, instance, reviewer }: Scene,
  { id, deadline_at }: ApprovalRequest,
  status: TerminalStatus,
): Promise<ApprovalRequest> {
  if (status === "expired") clock.advance(Date.parse(deadline_at) - clock.now());
  if (status === "cancelled") await cancel(server, instance.token, id);
  if (status === "approved") await server.decide(reviewer, id, "approve");
  if (status === "denied") await server.decide(reviewer, id, "deny");
  const ended = await server.read(instance.token, id);
  assert.equal(ended.status, status);
  return ended;
}

export function cancel<T = ApprovalRequest>(
  server: TestProvider,
  token: string,
  id: string,
): Promise<Answer<T>> {
  return server.call<T>("DELETE", `/v1/requests/${id}`, { token });
}

/** Submits a body, whatever it is. */
export function submitBody(
  server: TestProvider,
  token: string,
  body: unknown,
  key = server.freshKey(),
): Promise<Answer<ApprovalRequest>> {
  return server.call("POST", "/v1/requests", { token, key, body });
}

/** The recorded status; reading it this way has no effect. */
export async function storedStatus(
  { server }: Pick<Scene, "server">,
  id: string,
): Promise<RequestStatus | undefined> {
  const row = await server.provider.context.store.get("select status from request where id = $1", [
    id,
  ]);
  return row?.status as RequestStatus | undefined;
}

/** Lets the workers do what is due now, until the request is recorded with this status. */
export async function untilStored(
  scene: Pick<Scene, "server" | "clock">,
  id: string,
  status: RequestStatus | undefined,
): Promise<void> {
  await until(async () => {
    scene.clock.advance(0);
    return (await storedStatus(scene, id)) === status;
  }, `the request is stored as ${status}`);
}

/** How many requests there are, in any state. */
export async function countRequests({ server }: Pick<Scene, "server">): Promise<number> {
  const row = await server.provider.context.store.get("select count(*) as n from request");
  return Number(row?.n);
}

export interface AuditRow {
  readonly at: number;
  readonly kind: string;
  readonly actor: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The audit log entries of one `kind:id`, in the order in which they happened. */
export async function auditOf(
  { server }: Pick<Scene, "server">,
  subject: string,
): Promise<AuditRow[]> {
  const { store } = server.provider.context;
  const sql = `select at, kind, actor, detail from audit_entry where subject = $1
    order by ${asInserted(store)}`;
  const rows = await store.all(sql, [subject]);
  return rows.map(({ at, kind, actor, detail }) => ({
    at: Number(at),
    kind: String(kind),
    actor: String(actor),
    detail: JSON.parse(String(detail)) as Record<string, unknown>,
  }));
}
