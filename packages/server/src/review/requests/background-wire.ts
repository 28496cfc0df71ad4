/**
 * The background of a request as reviewers read it: exact text stays exact.
 */

import { formatTimestamp } from "@countersign/protocol";
import { sha256Hex } from "../../core/digest.ts";
import type { Background } from "../../operations/requests/showBackground.ts";

/** @param now the server's time */
export function writeBackground(
  { lastApproved, similar, deniedBefore, timeline }: Background,
  now: string,
): string {
  return (
    `{"last_approved":${lastApproved === undefined ? "null" : writeApproved(lastApproved)}` +
    `,"similar":${writeSimilar(similar)}` +
    `,"denied_before":${deniedBefore === undefined ? "null" : writeDenied(deniedBefore)}` +
    `,"timeline":${JSON.stringify(timeline.map(toWire))}` +
    `,"now":"${now}"}`
  );
}

function writeApproved(request: NonNullable<Background["lastApproved"]>): string {
  const { id, createdAt, decision, arguments: text } = request;
  const rest = JSON.stringify({
    id,
    created_at: formatTimestamp(createdAt),
    ...(decision !== null && {
      decided_at: formatTimestamp(decision.decidedAt),
      decided_by: decision.decidedBy,
    }),
    arguments_sha256: sha256Hex(text),
  });
  return `${rest.slice(0, -1)},"arguments":${text}}`;
}

function writeSimilar({ since, counts, isComplete }: Background["similar"]): string {
  const statuses = ["approved", "denied", "expired", "cancelled", "pending"] as const;
  return JSON.stringify({
    since: formatTimestamp(since),
    ...Object.fromEntries(statuses.map((status) => [status, counts.get(status) ?? 0])),
    complete: isComplete,
  });
}

function writeDenied(denied: NonNullable<Background["deniedBefore"]>): string {
  const { id, decidedAt, decidedBy, note } = denied;
  const rest = JSON.stringify({
    id,
    decided_at: formatTimestamp(decidedAt),
    decided_by: decidedBy,
  });
  // A note is JSON text as it was written, and stays so.
  return note === null ? rest : `${rest.slice(0, -1)},"note":${note}}`;
}

function toWire({ at, ...rest }: Background["timeline"][number]): object {
  return { at: formatTimestamp(at), ...rest };
}
