/**
 * The audit log: look at entries, take checkpoints and proofs away, export and verify it. For
 * reviewers with the power `audit`, and for the log of the whole server also `server`.
 */

import { formatTimestamp } from "@countersign/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { writeEntry } from "../../core/audit-line.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { pathIdentifier, sendJson, sendJsonLines } from "../../http/exchange.ts";
import type { AuditScope } from "../../operations/audit/auditedLog.ts";
import { exportAuditLog } from "../../operations/audit/exportAuditLog.ts";
import { type AuditPage, listAuditEntries } from "../../operations/audit/listAuditEntries.ts";
import { proveAuditEntry } from "../../operations/audit/proveAuditEntry.ts";
import { type ShownCheckpoint, showCheckpoint } from "../../operations/audit/showCheckpoint.ts";
import {
  type Finding,
  type VerificationEvent,
  verifyAuditLog,
} from "../../operations/audit/verifyAuditLog.ts";
import {
  pageParameters,
  textParameter,
  timeParameter,
  wrong,
} from "../shared/listing-parameters.ts";
import { RunSlots } from "../shared/run-slots.ts";

const AUDIT = "/review/v1/audit";

export function addAuditRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");

  app.get(
    `${AUDIT}/entries`,
    { config: { operation: "listAuditEntries", requiredPower: "audit" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const [kind, subject, actor] = ["kind", "subject", "actor"].map((name) =>
        textParameter(request, name),
      );
      const [since, until] = [timeParameter(request, "since"), timeParameter(request, "until")];
      const about = { scope: scopeOf(request), kind, subject, actor, since, until };
      const listing = { ...about, ...pageParameters(request) };
      const page = await listAuditEntries(context, caller, listing);
      return sendJson(reply, 200, writeAuditPage(page));
    },
  );

  app.get(
    `${AUDIT}/entries/:id/proof`,
    { config: { operation: "proveAuditEntry", requiredPower: "audit" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const id = pathIdentifier(request);
      const proven = await proveAuditEntry(context, caller, scopeOf(request), id);
      return sendJson(reply, 200, proven.line);
    },
  );

  app.get(
    `${AUDIT}/checkpoint`,
    { config: { operation: "showCheckpoint", requiredPower: "audit" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const shown = await showCheckpoint(context, caller, scopeOf(request));
      return sendJson(reply, 200, writeShown(shown));
    },
  );

  app.get(
    `${AUDIT}/export`,
    { config: { operation: "exportAuditLog", requiredPower: "audit" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const order = { scope: scopeOf(request), since: timeParameter(request, "since") };
      return sendJsonLines(request, reply, (lines) =>
        exportAuditLog(context, caller, order, (line) => lines.write(line)),
      );
    },
  );

  addVerification(app, context, gate);
}

function addVerification(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");
  const slots = new RunSlots(VERIFICATIONS, 1);
  app.addHook("preClose", (done) => {
    slots.stop();
    done();
  });

  app.get(
    `${AUDIT}/verify`,
    { config: { operation: "verifyAuditLog", requiredPower: "audit" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const scope = scopeOf(request);
      const slot = slots.take(caller.projectId);
      try {
        return await sendJsonLines(request, reply, (lines) =>
          verifyAuditLog(context, caller, scope, {
            tell: (event) => lines.write(writeVerification(event)),
            signal: AbortSignal.any([slot.signal, lines.signal]),
          }),
        );
      } finally {
        slot.release();
      }
    },
  );
}

const VERIFICATIONS = {
  own: "A verification of this project",
  others: "Verifications of other projects",
};

function writeVerification(event: VerificationEvent): string {
  switch (event.kind) {
    case "started":
      return JSON.stringify({ event: "started", log: event.origin, size: event.size });
    case "progress":
      return JSON.stringify({ event: "progress", verified: event.verified });
    case "stopped":
      return JSON.stringify({ event: "summary", result: "stopped", verified: event.verified });
    case "verified": {
      const { unsealed, late, checkpoint, finding } = event.result;
      return JSON.stringify({
        event: "summary",
        result: finding === undefined ? "good" : "bad",
        verified: event.verified,
        unsealed,
        late,
        checkpoint,
        ...(finding !== undefined && { finding: toWireFinding(finding) }),
      });
    }
  }
}

function toWireFinding({ fault, message, position, id, kind, at }: Finding): object {
  // Whoever altered an entry may have put any time there.
  const isTime = at !== undefined && Number.isSafeInteger(at) && Math.abs(at) <= 8.64e15;
  return { fault, message, position, id, kind, ...(isTime && { at: formatTimestamp(at) }) };
}

/** @throws Problem `invalid_request` */
function scopeOf(request: FastifyRequest): AuditScope {
  const log = textParameter(request, "log") ?? "project";
  if (log === "project" || log === "server") return log;
  throw wrong("log", "must be project or server");
}

function writeAuditPage({ entries, next }: AuditPage): string {
  const list = entries.map(writeEntry).join(",");
  return `{"entries":[${list}],"next":${JSON.stringify(next ?? null)}}`;
}

function writeShown({ checkpoint, publicKey, size, sealedAt }: ShownCheckpoint): string {
  return JSON.stringify({
    checkpoint,
    public_key: publicKey,
    size,
    sealed_at: formatTimestamp(sealedAt),
  });
}
