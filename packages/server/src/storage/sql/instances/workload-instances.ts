/**
 * Rows of the table `workload_instance`.
 */

import type { Reader, Row, Transaction } from "../../store.ts";

/** The tokens of a platform that use an instance. */
export interface WorkloadBinding {
  /** Name of the rule that created the instance. */
  readonly rule: string;
  /** The claim `iss`. */
  readonly issuer: string;
  /** The claims in the name of the instance, by path. */
  readonly claims: Readonly<Record<string, string>>;
}

export interface StoredWorkloadInstance extends WorkloadBinding {
  readonly projectId: string;
  readonly instanceId: string;
  readonly createdAt: number;
}

export async function insertWorkloadInstance(
  tx: Transaction,
  { projectId, instanceId, rule, issuer, claims, createdAt }: StoredWorkloadInstance,
  binding: string,
): Promise<void> {
  await tx.insert(
    `insert into workload_instance
       (project_id, binding, instance_id, rule, issuer, claims, created_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [projectId, binding, instanceId, rule, issuer, JSON.stringify(claims), createdAt],
  );
}

/** @returns the id of the instance, deleted or not; undefined without one */
export async function readWorkloadInstanceId(
  reader: Reader,
  projectId: string,
  binding: string,
): Promise<string | undefined> {
  const sql = "select instance_id from workload_instance where project_id = $1 and binding = $2";
  const row = await reader.get(sql, [projectId, binding]);
  return row === undefined ? undefined : String(row.instance_id);
}

/** @returns bindings by instance; an instance without workload identity has none */
export async function readWorkloadBindings(
  reader: Reader,
  projectId: string,
  instanceIds: readonly string[],
): Promise<ReadonlyMap<string, WorkloadBinding>> {
  if (instanceIds.length === 0) return new Map();
  const params = instanceIds.map((_, i) => `$${i + 2}`).join(", ");
  const sql = `select instance_id, rule, issuer, claims from workload_instance
    where project_id = $1 and instance_id in (${params})`;
  const rows = await reader.getMany(sql, [projectId, ...instanceIds]);
  return new Map(rows.map((row) => [String(row.instance_id), toBinding(row)]));
}

function toBinding({ rule, issuer, claims }: Row): WorkloadBinding {
  return {
    rule: String(rule),
    issuer: String(issuer),
    claims: JSON.parse(String(claims)) as WorkloadBinding["claims"],
  };
}
