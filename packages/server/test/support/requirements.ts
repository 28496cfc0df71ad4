/**
 * Requests that ask for more than one click: a judgement is put on a pending request as policy
 * would have, whatever policy is there.
 */

import assert from "node:assert/strict";
import type { ApprovalRequest } from "@countersign/protocol";
import { type Judgement, writeJudgement } from "../../src/policy/judgement.ts";
import { NO_REQUIREMENT, type Requirement } from "../../src/policy/rule.ts";
import { authenticateRow } from "../../src/storage/sql/requests/request-rows.ts";
import type { Store } from "../../src/storage/store.ts";
import { type Scene, submitBody } from "./scene.ts";
import { SUBMISSION } from "./test-provider.ts";

export const ASK_JUDGEMENT: Judgement = {
  verb: "ask",
  because: "production",
  fired: ["floor/all", "production"],
  errors: [],
  project: { number: 3, sha256: "ab".repeat(32) },
  floor: { number: 1, sha256: "cd".repeat(32) },
  note: "Production is watched.",
};

/** Puts a requirement on a pending request. */
export async function require(
  store: Store,
  id: string,
  requirement: Partial<Requirement>,
  judgement: Partial<Judgement> = {},
): Promise<void> {
  const full = {
    ...ASK_JUDGEMENT,
    ...judgement,
    requirement: { ...NO_REQUIREMENT, ...requirement },
  };
  await store.transact(async (tx) => {
    const row = await tx.get("select * from request where id = $1", [id]);
    assert.equal(row?.status, "pending");
    const policy = writeJudgement(full);
    const { mac } = authenticateRow(tx.integrity, { ...row, policy });
    const sql = "update request set policy = $2, mac = $3 where id = $1";
    assert.equal(await tx.run(sql, [id, policy, mac]), 1);
  });
}

/** A new pending request with a requirement. */
export async function submitRequiring(
  { server, instance }: Pick<Scene, "server" | "instance">,
  requirement: Partial<Requirement>,
  judgement: Partial<Judgement> = {},
): Promise<ApprovalRequest> {
  const { json } = await submitBody(server, instance.token, SUBMISSION);
  await require(server.provider.context.store, json.id, requirement, judgement);
  return json;
}

/** Names the owner of an instance, as an administrator would have. */
export async function setOwner(
  store: Store,
  instanceId: string,
  reviewer: string | null,
): Promise<void> {
  await store.transact(async (tx) => {
    const row = await tx.get("select id from reviewer where name = $1", [reviewer]);
    const values = [instanceId, (row?.id as string | undefined) ?? null];
    await tx.run("update instance set owner_id = $2 where id = $1", values);
  });
}

/** Puts a reviewer into groups, or gives another role. */
export async function setReviewer(
  store: Store,
  name: string,
  { groups, role }: { readonly groups?: readonly string[]; readonly role?: string },
): Promise<void> {
  await store.transact(async (tx) => {
    if (groups !== undefined) {
      const values = [name, JSON.stringify(groups)];
      await tx.run("update reviewer set group_names = $2 where name = $1", values);
    }
    if (role !== undefined) {
      await tx.run("update reviewer set role = $2 where name = $1", [name, role]);
    }
  });
}
