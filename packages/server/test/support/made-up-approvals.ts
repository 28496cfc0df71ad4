/** Approvals that an insider with the keys of the server writes. */

import assert from "node:assert/strict";
import { type AuditEntry, appendAudit } from "../../src/audit/append-audit.ts";
import { sha256Hex } from "../../src/core/digest.ts";
import { readRequest, updateDecision } from "../../src/storage/sql/requests/requests.ts";
import { projectId, storeOf } from "./audit-logs.ts";
import type { Scene } from "./scene.ts";

const HOUR = 3_600_000;

/** Approves as the storage functions would, with the keys of the server and without its checks. */
export async function makeUp(
  scene: Scene,
  id: string,
  actor: `${"reviewer" | "grant" | "policy"}:${string}`,
  detail: AuditEntry["detail"] = {},
  at = scene.clock.now(),
) {
  const { random } = scene.server.provider.context;
  const project = await projectId(storeOf(scene));
  await storeOf(scene).transact(async (tx) => {
    const request = await readRequest(tx, { projectId: project, id });
    assert.ok(request);
    const decision = { status: "approved", note: null, decidedBy: actor } as const;
    const expiresAt = at + HOUR;
    // The row of a decided request stays as it is.
    if (request.status === "pending") {
      await updateDecision(tx, request, { ...decision, decidedAt: at, expiresAt });
    }
    await appendAudit(tx, random, {
      at,
      projectId: project,
      kind: "request.resolved",
      actor,
      subject: `request:${id}`,
      detail: {
        status: "approved",
        tool_sha256: sha256Hex(request.tool),
        arguments_sha256: sha256Hex(request.arguments),
        deadline_at: request.deadlineAt,
        expires_at: expiresAt,
        note_sha256: null,
        ...detail,
      },
    });
  });
}

/** The actor of a reviewer with this login. */
export async function reviewerOf(
  scene: Scene,
  { login }: { readonly login: string },
): Promise<string> {
  const row = await storeOf(scene).get("select id from reviewer where name = $1", [login]);
  return String(row?.id);
}
