/**
 * Freezing as a person does it, and what is left behind by a process that died while doing it.
 */

import { randomUUID } from "node:crypto";
import type { ErrorResponse, RequestStatus } from "@countersign/protocol";
import { touchActiveState } from "../../src/storage/sql/active-state-stamp.ts";
import type { Answer, TestProvider } from "./test-provider.ts";

export interface ReviewedFreeze {
  readonly id: string;
  readonly scope: "instance" | "project" | "server";
  readonly instance?: { readonly id: string; readonly name: string };
  readonly note?: string;
  readonly frozen_at: string;
  readonly frozen_by: string;
  readonly lifted_at?: string;
  readonly lifted_by?: string;
  readonly denied?: number;
  readonly complete?: boolean;
}

export const FREEZES = "/review/v1/freezes";

export function freeze(
  server: TestProvider,
  token: string,
  body: unknown,
): Promise<Answer<ReviewedFreeze & ErrorResponse>> {
  return server.call("POST", FREEZES, { token, body });
}

export function lift(
  server: TestProvider,
  token: string,
  id: string,
): Promise<Answer<ReviewedFreeze & ErrorResponse>> {
  return server.call("POST", `${FREEZES}/${id}/lift`, { token });
}

export async function listFreezes(
  server: TestProvider,
  token: string,
  state: "in_force" | "lifted" = "in_force",
): Promise<ReviewedFreeze[]> {
  const path = `${FREEZES}?state=${state}`;
  const { json } = await server.call<{ freezes: ReviewedFreeze[] }>("GET", path, { token });
  return json.freezes;
}

/** The freeze of a process that died before it denied anything. */
export async function leaveFreeze(server: TestProvider, instanceId: string): Promise<string> {
  const { store, clock } = server.provider.context;
  const id = randomUUID();
  await store.transact(async (tx) => {
    await tx.run(
      `insert into call_freeze (id, project_id, instance_id, note, frozen_at, frozen_by)
       select $1, project_id, id, 'left', $3, 'reviewer:x' from instance where id = $2`,
      [id, instanceId, clock.now()],
    );
    const row = await tx.get("select project_id from instance where id = $1", [instanceId]);
    await touchActiveState(tx, String(row?.project_id));
  });
  return id;
}

/** How many requests of an instance have each status. */
export async function countByStatus(
  server: TestProvider,
  instanceId: string,
): Promise<Partial<Record<RequestStatus, number>>> {
  const sql = "select status, count(*) as n from request where instance_id = $1 group by status";
  const rows = await server.provider.context.store.all(sql, [instanceId]);
  return Object.fromEntries(rows.map(({ status, n }) => [String(status), Number(n)]));
}
