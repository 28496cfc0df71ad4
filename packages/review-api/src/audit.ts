/** The audit log: entries, proofs, checkpoints, exports and verifications. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import {
  actor,
  exactObject,
  id,
  pageById,
  parameter,
  timeParameter,
  timestamp,
  wordParameter,
} from "./schema.ts";

/** The log of the project, or of the whole server, which also needs the power `server`. */
const log = v.optional(wordParameter(["project", "server"]), "project");

const auditEntry = v.object({
  /** Empty for an entry of the server. */
  project_id: v.string(),
  id,
  /** Milliseconds since 1970. */
  at: v.number(),
  kind: v.string(),
  actor,
  /** As `kind:id`. */
  subject: v.string(),
  detail: exactObject,
});

const proof = v.object({
  checkpoint: v.string(),
  position: v.number(),
  proof: v.array(v.string()),
  /** An entry; its exact text is the leaf that the proof is about. */
  entry: exactObject,
});

const checkpoint = v.object({
  checkpoint: v.string(),
  public_key: v.string(),
  size: v.number(),
  /** Entries before this position are only in an archive. */
  pruned: v.number(),
  sealed_at: timestamp,
});

const verificationLine = v.variant("event", [
  v.object({ event: v.literal("started"), log: v.string(), size: v.number() }),
  v.object({ event: v.literal("progress"), verified: v.number() }),
  v.object({
    event: v.literal("summary"),
    /** `stopped`: the time limit ended the verification; all entries so far are good. */
    result: v.picklist(["good", "bad", "stopped"]),
    verified: v.number(),
    unsealed: v.optional(v.number()),
    late: v.optional(v.number()),
    /** Entries before this position are only in an archive, and were not verified. */
    pruned: v.optional(v.number()),
    checkpoint: v.optional(v.string()),
    finding: v.optional(
      v.object({
        fault: v.string(),
        message: v.string(),
        position: v.optional(v.number()),
        id: v.optional(v.string()),
        kind: v.optional(v.string()),
        at: v.optional(timestamp),
      }),
    ),
  }),
]);

export type AuditEntry = v.InferOutput<typeof auditEntry>;
export type VerificationLine = v.InferOutput<typeof verificationLine>;

export const audit = {
  listAuditEntries: operation({
    method: "GET",
    path: "/audit/entries",
    summary: "List entries of the audit log, the latest first.",
    caller: "reviewer",
    power: "audit",
    query: v.strictObject({
      log,
      kind: parameter(),
      subject: parameter(),
      actor: parameter(),
      since: timeParameter,
      until: timeParameter,
      ...pageById,
    }),
    answers: {
      200: v.object({
        entries: v.array(auditEntry),
        next: v.nullable(id),
        /** Entries of the log before this position are only in an archive. */
        pruned: v.number(),
      }),
    },
    errors: [],
  }),

  proveAuditEntry: operation({
    method: "GET",
    path: "/audit/entries/{id}/proof",
    summary: "Prove that an entry is in the sealed log.",
    caller: "reviewer",
    power: "audit",
    query: v.strictObject({ log }),
    answers: { 200: proof },
    errors: ["not_found"],
  }),

  showCheckpoint: operation({
    method: "GET",
    path: "/audit/checkpoint",
    summary: "Show the latest checkpoint of the log.",
    caller: "reviewer",
    power: "audit",
    query: v.strictObject({ log }),
    answers: { 200: checkpoint },
    errors: ["not_found"],
  }),

  exportAuditLog: operation({
    method: "GET",
    path: "/audit/export",
    summary: "Export the sealed log.",
    caller: "reviewer",
    power: "audit",
    query: v.strictObject({ log, since: timeParameter }),
    answers: { 200: { stream: "application/x-ndjson" } },
    errors: ["not_found"],
  }),

  verifyAuditLog: operation({
    method: "GET",
    path: "/audit/verify",
    summary: "Verify the sealed log.",
    caller: "reviewer",
    power: "audit",
    query: v.strictObject({ log }),
    answers: { 200: { stream: "application/x-ndjson", line: verificationLine } },
    errors: ["not_found"],
  }),
};
