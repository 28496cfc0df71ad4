/**
 * Defects to be planted, one at a time, in the source of the product while it is loaded: whoever
 * does not find them proves nothing. Each breaks a promise in a way that somebody might.
 *
 * Called by: simulate.ts.
 */

import { registerHooks } from "node:module";

export interface Mutation {
  readonly name: string;
  /** The promise that it breaks, or one of them. */
  readonly breaks: string;
  /** Under packages/server/src. */
  readonly file: string;
  /** What stands there, once. */
  readonly from: string;
  readonly to: string;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: "decided-twice",
    breaks: "I1",
    file: "core/request.ts",
    from: "if (request.decision !== null) {",
    to: "if (request.decision?.status === 'approved') {",
  },
  {
    name: "key-not-looked-up",
    breaks: "I2",
    file: "secrets/keyring.ts",
    from: "export function hashRequestKey(instanceId: string, key: string): string {",
    to: "let calls = 0; export function hashRequestKey(instanceId: string, key: string): string { key += calls++;",
  },
  {
    name: "other-input-replayed",
    breaks: "I10",
    file: "operations/createApprovalRequest.ts",
    from: 'if (!isSameRequest(existing, input)) throw new Problem("idempotency_conflict");',
    to: "",
  },
  {
    name: "event-in-a-second-transaction",
    breaks: "I3",
    file: "operations/resolveRequest.ts",
    from: "await insertNotification(tx, {",
    to: "if (requestId < id) return undefined; await insertNotification(tx, {",
  },
  {
    name: "lease-shorter-than-an-attempt",
    breaks: "I4",
    file: "operations/claimNotifications.ts",
    from: "const LEASE_MS = 30_000;",
    to: "const LEASE_MS = 4_000;",
  },
  {
    name: "sent-without-a-last-look",
    breaks: "I7",
    file: "operations/isStillClaimed.ts",
    from: "if (store.isExclusive) return",
    to: "return true; if (store.isExclusive) return",
  },
  {
    name: "rejection-taken-for-receipt",
    breaks: "I5",
    file: "core/notification.ts",
    from: 'if (outcome.kind === "acknowledged")',
    to: 'if (outcome.kind === "acknowledged" || outcome.kind === "rejected")',
  },
  {
    name: "redirect-taken-for-receipt",
    breaks: "I5",
    file: "delivery/webhook-delivery.ts",
    from: "if (status >= 200 && status < 300)",
    to: "if (status >= 200 && status < 400)",
  },
  {
    name: "approved-after-the-deadline",
    breaks: "I6",
    file: "core/request.ts",
    from: 'decide("expired", "system:deadline", now)',
    to: 'decide(ending.status, "by" in ending ? ending.by : "system:deadline", now, { expiresAt: "validityMs" in ending ? now + ending.validityMs : null })',
  },
  {
    name: "written-past-the-deadline",
    breaks: "I6",
    file: "operations/resolveRequest.ts",
    from: "if ((await tx.now()) >= deadlineAt) throw new DeadlinePassed();",
    to: "await tx.now();",
  },
  {
    name: "credentials-survive",
    breaks: "I7",
    file: "operations/deleteInstance.ts",
    from: "await revokeCredentialsOf(tx, instance.instanceId, now)",
    to: "0",
  },
  {
    name: "receiver-survives",
    breaks: "I7",
    file: "operations/deleteInstance.ts",
    from: "  await removeReceiver(tx, instance);",
    to: "",
  },
  {
    name: "failed-verification-commits",
    breaks: "I8",
    file: "operations/commitVerified.ts",
    from: 'if (verified.kind !== "verified") throw refusal(verified);',
    to: 'if (verified.kind === "unsafe") throw refusal(verified);',
  },
  {
    name: "echo-taken-for-proof",
    breaks: "I8",
    file: "delivery/webhook-delivery.ts",
    from: "answer.members.size === 1 &&",
    to: "",
  },
  {
    name: "id-of-its-own-for-each-attempt",
    breaks: "I9",
    file: "delivery/webhook-delivery.ts",
    from: "const { url, signingKey, id, body, timeoutMs, endsBy, isWanted } = sending;",
    to: "const { url, signingKey, timeoutMs, endsBy, isWanted, id } = sending; const body = `${sending.body} `;",
  },
  {
    name: "arguments-parsed-and-written",
    breaks: "I10",
    file: "http/wire.ts",
    from: "`{${approvalRequestMembers(request)}}`",
    to: "JSON.stringify(JSON.parse(`{${approvalRequestMembers(request)}}`))",
  },
  {
    name: "erased-while-it-may-be-replayed",
    breaks: "I11",
    file: "operations/eraseExpired.ts",
    from: "const before = now - context.settings.retentionMs;",
    to: "const before = now - context.settings.retentionMs / 4;",
  },
  {
    name: "one-of-two-is-enough",
    breaks: "I12",
    file: "operations/castVerdict.ts",
    from: "if (!tally.isEnough)",
    to: "if (tally.counted.length === 0)",
  },
  {
    name: "frozen-and-approved",
    breaks: "I12",
    file: "operations/castVerdict.ts",
    from: "if (freeze !== undefined) {",
    to: "if (freeze === null) {",
  },
  {
    name: "secret-in-an-error",
    breaks: "I13",
    file: "operations/createApprovalRequest.ts",
    from: 'throw new Problem("idempotency_conflict");',
    to: 'throw new Problem("idempotency_conflict", existing.arguments);',
  },
  {
    name: "place-never-left",
    breaks: "I14",
    file: "workers/delivery-line.ts",
    from: "      leave();\n      for (const key of keys) {",
    to: "      for (const key of keys) {",
  },
  {
    name: "ending-without-an-entry",
    breaks: "I15",
    file: "operations/resolveRequest.ts",
    from: "await appendAudit(tx, random, auditOf(request, decision, detail));",
    to: "if (decision.status !== 'expired') await appendAudit(tx, random, auditOf(request, decision, detail));",
  },
  {
    name: "only-signals-are-followed",
    breaks: "liveness",
    file: "workers/delivery.ts",
    from: "const pauseMs = next === undefined ? scanMs : BREATH_MS;",
    to: "if (next === undefined) return; const pauseMs = next === undefined ? scanMs : BREATH_MS;",
  },
  {
    name: "deadline-slept-past",
    breaks: "liveness",
    file: "workers/at-times.ts",
    from: "      report.dependencyFailed(timed.name, error);\n    }",
    to: "      report.dependencyFailed(timed.name, error); return;\n    }",
  },
  {
    name: "leases-of-the-dead-never-end",
    breaks: "liveness",
    file: "storage/sql/notifications.ts",
    from: "       and notification.next_at <= $3\n       and (notification.claimed_until is null or notification.claimed_until <= $3)",
    to: "       and notification.next_at <= $3\n       and notification.claimed_until is null",
  },
  {
    name: "run-again-on-what-was-undone",
    breaks: "bug",
    file: "operations/commitVerified.ts",
    from: "if (current?.fence !== fence) return undefined;",
    to: "if (current === undefined) throw new Error('there is none');",
  },
];

/** Plants one in everything that is loaded from now on. @throws Error when there is no place */
export function plant(name: string): Mutation {
  const mutation = MUTATIONS.find((each) => each.name === name);
  if (mutation === undefined) throw new Error(`there is no mutation ${name}`);
  const { file, from, to } = mutation;
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith(`/packages/server/src/${file}`)) return loaded;
      const source = String(loaded.source);
      if (source.split(from).length !== 2) throw new Error(`${name} has no one place in ${file}`);
      return { ...loaded, source: source.replace(from, () => to) };
    },
  });
  return mutation;
}
