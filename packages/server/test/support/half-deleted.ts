/**
 * An instance deletion whose process stopped after its first transaction: the instance is deleted,
 * and some of its requests are still pending.
 */

import assert from "node:assert/strict";
import { deleteInstance } from "../../src/operations/instances/deleteInstance.ts";
import type { Store } from "../../src/storage/store.ts";
import { withStore } from "./test-context.ts";
import type { TestProvider } from "./test-provider.ts";

const STOPPED = new Error("the process stopped");

/** @param cancelled how many requests the first transaction cancels; fewer than are pending */
export async function deleteHalf(
  server: TestProvider,
  instanceId: string,
  cancelled = 0,
): Promise<void> {
  const { context } = server.provider;
  const { store } = context;
  let commits = 0;
  const transact: Store["transact"] = async (work, durability) => {
    if (commits > 0) throw STOPPED;
    const result = await store.transact(work, durability);
    commits++;
    return result;
  };
  const settings = { ...context.settings, cancellationsPerCommitMax: cancelled };
  const replica = { ...withStore(context, { transact }), settings };
  const row = await store.get("select project_id, provisioner_id from instance where id = $1", [
    instanceId,
  ]);
  const caller = {
    kind: "provisioner",
    credentialId: "test",
    projectId: String(row?.project_id),
    provisionerId: String(row?.provisioner_id),
  } as const;
  await assert.rejects(deleteInstance(replica, caller, instanceId), STOPPED);
}
