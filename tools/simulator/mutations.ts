/**
 * Defects to be planted, one at a time, in the source of the product while it is loaded: a check
 * that does not find them proves nothing. Each breaks a promise in a plausible way.
 */

import { registerHooks } from "node:module";

export interface Mutation {
  readonly name: string;
  /** The promise that it breaks, or one of them. */
  readonly breaks: string;
  /** Under packages/server/src. */
  readonly file: string;
  /** Each text, which occurs once, and its replacement. */
  readonly edits: Edits;
  /** Where the promise has other guards that would hold it. */
  readonly more?: readonly { readonly file: string; readonly edits: Edits }[];
}

type Edits = readonly (readonly [from: string, to: string])[];

export const MUTATIONS: readonly Mutation[] = [
  {
    name: "decided-twice",
    breaks: "I1",
    file: "core/request.ts",
    edits: [["if (request.decision !== null) {", "if (request.decision?.status === 'approved') {"]],
  },
  {
    name: "key-ignored",
    breaks: "I2",
    file: "secrets/keyring.ts",
    edits: [
      ["export function hashRequestKey(", "let calls = 0;\nexport function hashRequestKey("],
      [
        "(instanceId: string, key: string): string {",
        "(instanceId: string, key: string): string {\nkey += calls++;",
      ],
    ],
  },
  {
    name: "input-not-compared",
    breaks: "I10",
    file: "operations/requests/createApprovalRequest.ts",
    edits: [
      ['if (!isSameRequest(existing, input)) throw new Problem("idempotency_conflict");', ""],
    ],
  },
  {
    name: "event-missing",
    breaks: "I3",
    file: "steps/requests/resolveRequest.ts",
    edits: [
      [
        "await insertNotification(tx, {",
        "if (requestId < id) return undefined; await insertNotification(tx, {",
      ],
    ],
  },
  {
    name: "lease-ignored",
    breaks: "I4",
    file: "storage/sql/deliveries/notifications.ts",
    edits: [
      ["and (notification.claimed_until is null or notification.claimed_until <= $3)", ""],
      ["and (claimed_until is null or claimed_until <= $4)", ""],
    ],
  },
  {
    name: "last-query-removed",
    breaks: "I7",
    file: "outbox/webhook-destination.ts",
    edits: [
      ["  return readClaim(context", "  return Promise.resolve(true);\n  return readClaim(context"],
    ],
  },
  {
    name: "rejection-acknowledged",
    breaks: "I5",
    file: "core/notification.ts",
    edits: [
      [
        'if (outcome.kind === "acknowledged")',
        'if (outcome.kind === "acknowledged" || outcome.kind === "rejected")',
      ],
    ],
  },
  {
    name: "redirect-acknowledged",
    breaks: "I5",
    file: "delivery/webhook-delivery.ts",
    edits: [["if (status >= 200 && status < 300)", "if (status >= 200 && status < 400)"]],
  },
  {
    name: "one-deadline-check-removed",
    breaks: "I6",
    file: "core/request.ts",
    edits: [
      [
        "if (isOverdue(request, now)) {",
        'if (isOverdue(request, now) && ending.status !== "approved") {',
      ],
    ],
  },
  {
    name: "deadline-passes-during-write",
    breaks: "I6",
    file: "steps/requests/resolveRequest.ts",
    edits: [["if ((await tx.now()) >= deadlineAt) throw new DeadlinePassed();", "await tx.now();"]],
  },
  {
    name: "credentials-kept",
    breaks: "I7",
    file: "operations/instances/deleteInstance.ts",
    edits: [["await revokeCredentialsOf(tx, instance.instanceId, now)", "0"]],
  },
  {
    name: "receiver-kept",
    breaks: "I7",
    file: "operations/instances/deleteInstance.ts",
    edits: [["  await removeReceiver(tx, instance);", ""]],
  },
  {
    name: "decided-after-deletion",
    breaks: "I7",
    file: "storage/sql/requests/requests.ts",
    edits: [["isInstanceDeleted: instance?.deleted_at !== null", "isInstanceDeleted: false"]],
  },
  {
    name: "failed-verification-committed",
    breaks: "I8",
    file: "steps/instances/commitVerified.ts",
    edits: [
      [
        'if (verified.kind !== "verified") throw refusal(verified);',
        'if (verified.kind === "unsafe") throw refusal(verified);',
      ],
    ],
  },
  {
    name: "longer-response-verifies",
    breaks: "I8",
    file: "delivery/webhook-delivery.ts",
    edits: [["answer.members.size === 1 &&", ""]],
  },
  {
    name: "body-changed",
    breaks: "I9",
    file: "delivery/webhook-delivery.ts",
    edits: [
      [
        "this.#post(url, signingKey, id, body, { ...options",
        "this.#post(url, signingKey, id, ' ' + body, { ...options",
      ],
    ],
  },
  {
    name: "arguments-reserialized",
    breaks: "I10",
    file: "http/wire.ts",
    edits: [
      [
        "const { decision } = request;",
        "const { decision } = request;\n" +
          "request = { ...request, arguments: JSON.stringify(JSON.parse(request.arguments)) };",
      ],
    ],
  },
  {
    name: "purged-early",
    breaks: "I11",
    file: "operations/operate/purgeExpired.ts",
    edits: [
      [
        "const before = now - settings.retentionMs;",
        "const before = now - settings.retentionMs / 4;",
      ],
    ],
  },
  {
    name: "quorum-ignored",
    breaks: "I12",
    file: "steps/requests/decideLocked.ts",
    edits: [["if (!tally.isEnough)", "if (tally.counted.length === 0)"]],
  },
  {
    name: "freeze-ignored",
    breaks: "I12",
    file: "steps/requests/checkVerdict.ts",
    edits: [["if (freeze === undefined) return", "if (freeze !== null) return"]],
  },
  {
    name: "secret-in-error",
    breaks: "I13",
    file: "operations/requests/createApprovalRequest.ts",
    edits: [
      [
        'throw new Problem("idempotency_conflict");',
        'throw new Problem("idempotency_conflict", existing.arguments);',
      ],
    ],
  },
  {
    name: "slot-never-released",
    breaks: "I14",
    file: "outbox/delivery-queue.ts",
    edits: [["      releaseSlot();\n", ""]],
  },
  {
    name: "expiry-not-audited",
    breaks: "I15",
    file: "steps/requests/resolveRequest.ts",
    edits: [
      [
        "  await appendAudit(tx, random, auditOf(request,",
        "  if (decision.status !== 'expired') await appendAudit(tx, random, auditOf(request,",
      ],
    ],
  },
  {
    name: "outbox-never-scans",
    breaks: "liveness",
    file: "outbox/webhook-destination.ts",
    edits: [
      [
        "    const scanMs = Math.max(",
        "    if (page.next === undefined) return Infinity;\n    const scanMs = Math.max(",
      ],
    ],
  },
  {
    name: "worker-stops-after-failure",
    breaks: "liveness",
    file: "timer-loop.ts",
    edits: [["      return undefined;\n    }", "      return Number.POSITIVE_INFINITY;\n    }"]],
  },
  {
    name: "expired-lease-kept",
    breaks: "liveness",
    file: "storage/sql/deliveries/notifications.ts",
    edits: [
      [
        "(notification.claimed_until is null or notification.claimed_until <= $3)",
        "notification.claimed_until is null",
      ],
    ],
  },
  {
    name: "stale-attempt-commits",
    breaks: "I2",
    file: "steps/instances/commitVerified.ts",
    edits: [
      ["if (value !== undefined) return value;\n  const current", "const current"],
      ["if (current?.fence !== fence || current.failure !== null) return undefined;", ""],
    ],
    more: [
      {
        file: "operations/instances/provisionInstance.ts",
        edits: [["if (!reserved) return undefined;", ""]],
      },
    ],
  },
  {
    name: "all-deadline-checks-removed",
    breaks: "I6",
    file: "core/request.ts",
    edits: [
      [
        "if (isOverdue(request, now)) {",
        'if (isOverdue(request, now) && ending.status !== "approved") {',
      ],
    ],
    more: [
      {
        file: "steps/requests/checkVerdict.ts",
        edits: [["isClosed(facts.request, facts.now)", "facts.request.isInstanceDeleted"]],
      },
      {
        file: "steps/requests/resolveRequest.ts",
        edits: [
          ["if ((await tx.now()) >= deadlineAt) throw new DeadlinePassed();", "await tx.now();"],
        ],
      },
    ],
  },
  {
    name: "one-request-twice-in-group",
    breaks: "I3",
    file: "storage/postgres/grouped-works.ts",
    edits: [["&& !this.#busy.has(member.subject)", ""]],
  },
  {
    name: "failed-commit-acknowledged",
    breaks: "I11",
    file: "storage/postgres/run-works.ts",
    edits: [
      [
        "await rollBack(connection, undefined);\n    return undone(error);",
        "await rollBack(connection, undefined);\n    return { kind: 'ended', results };",
      ],
    ],
  },
  {
    name: "failed-work-committed",
    breaks: "I3",
    file: "storage/postgres/run-works.ts",
    edits: [["&& unwanted === undefined) {\n    return commit", ") {\n    return commit"]],
  },
];

/** Plants one in everything that is loaded from now on. @throws Error when there is no place */
export function plant(name: string): Mutation {
  const mutation = MUTATIONS.find((each) => each.name === name);
  if (mutation === undefined) throw new Error(`there is no mutation ${name}`);
  const places = [mutation, ...(mutation.more ?? [])];
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const place = places.find(({ file }) => url.endsWith(`/packages/server/src/${file}`));
      if (place === undefined) return loaded;
      let source = String(loaded.source);
      for (const [from, to] of place.edits) {
        const times = source.split(from).length - 1;
        if (times !== 1) throw new Error(`${name} has ${times} places in ${place.file}`);
        source = source.replace(from, () => to);
      }
      return { ...loaded, source };
    },
  });
  return mutation;
}
