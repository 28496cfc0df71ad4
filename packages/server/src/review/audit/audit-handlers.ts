/** Handlers of the audit log: entries, proofs, checkpoints, exports and verifications. */

import { formatTimestamp } from "@countersign/protocol";
import { type audit, JsonText, type VerificationLine, writeJson } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import { sendJsonLines } from "../../http/exchange.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { exportAuditLog } from "../../operations/audit/exportAuditLog.ts";
import { listAuditEntries } from "../../operations/audit/listAuditEntries.ts";
import { proveAuditEntry } from "../../operations/audit/proveAuditEntry.ts";
import { showCheckpoint } from "../../operations/audit/showCheckpoint.ts";
import {
  type Finding,
  type VerificationEvent,
  verifyAuditLog,
} from "../../operations/audit/verifyAuditLog.ts";
import { ConcurrencyLimiter } from "../shared/concurrency-limiter.ts";

const VERIFICATIONS = {
  totalMax: 1,
  sameKey: "Another verification of this project is running. Try again when it has finished.",
  otherKeys: "A verification of another project is running. Try again shortly.",
};

/** @param onClose registers what stops when the server closes */
export function auditHandlers(
  context: Context,
  onClose: (stop: () => void) => void,
): Handlers<typeof audit> {
  const verifications = new ConcurrencyLimiter(VERIFICATIONS);
  onClose(() => verifications.stop());
  return {
    async listAuditEntries({ caller, query: { log: scope, ...listing } }) {
      const { entries, next, pruned } = await listAuditEntries(context, caller, {
        scope,
        ...listing,
      });
      return {
        entries: entries.map(({ projectId, id, at, kind, actor, subject, detail }) => {
          return {
            project_id: projectId,
            id,
            at,
            kind,
            actor,
            subject,
            detail: new JsonText(detail),
          };
        }),
        next: next ?? null,
        pruned,
      };
    },

    async proveAuditEntry({ caller, path, query: { log } }) {
      const proven = await proveAuditEntry(context, caller, log, path.id);
      const { checkpoint, position, proof, entry } = proven;
      // Verifiers take the text of the entry from the end of the answer.
      return { checkpoint, position, proof, entry: new JsonText(entry) };
    },

    async showCheckpoint({ caller, query: { log } }) {
      const shown = await showCheckpoint(context, caller, log);
      return {
        checkpoint: shown.checkpoint,
        public_key: shown.publicKey,
        size: shown.size,
        pruned: shown.pruned,
        sealed_at: formatTimestamp(shown.sealedAt),
      };
    },

    async exportAuditLog({ caller, query: { log: scope, since }, request, reply }) {
      return sendJsonLines(request, reply, (lines) =>
        exportAuditLog(context, caller, { scope, since }, (line) => lines.write(line)),
      );
    },

    async verifyAuditLog({ caller, query: { log }, request, reply }) {
      return verifications.run(caller.projectId, (stopping) =>
        sendJsonLines(request, reply, (lines) =>
          verifyAuditLog(context, caller, log, {
            emit: (event) => lines.write(writeJson(toLine(event))),
            signal: AbortSignal.any([stopping, lines.signal]),
          }),
        ),
      );
    },
  };
}

function toLine(event: VerificationEvent): VerificationLine {
  switch (event.kind) {
    case "started":
      return { event: "started", log: event.origin, size: event.size };
    case "progress":
      return { event: "progress", verified: event.verified };
    case "stopped":
      return { event: "summary", result: "stopped", verified: event.verified };
    case "verified": {
      const { unsealed, late, pruned, checkpoint, finding } = event.result;
      return {
        event: "summary",
        result: finding === undefined ? "good" : "bad",
        verified: event.verified,
        unsealed,
        late,
        pruned,
        checkpoint,
        finding: finding && toWireFinding(finding),
      };
    }
  }
}

function toWireFinding({ fault, message, position, id, kind, at }: Finding) {
  // An altered entry can have any timestamp.
  const isTime = at !== undefined && Number.isSafeInteger(at) && Math.abs(at) <= 8.64e15;
  return { fault, message, position, id, kind, at: isTime ? formatTimestamp(at) : undefined };
}
