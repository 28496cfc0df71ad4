/**
 * Faults of reading, polling and cancelling requests.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { errorResponse, Problem, parseDuration } from "@countersign/protocol";
import { answering, CORRECT, type Fault, hasCode, isSuccess, stillPending } from "./fault.ts";

const READ = "Endpoints, GET /v1/requests/{id}";
const CANCEL = "Endpoints, DELETE /v1/requests/{id}";

const isRead = "getApprovalRequest";
const isCancel = "cancelApprovalRequest";

/** Requests that were read with a wait. */
const waited = new Set<string>();

const POLLS: readonly Fault[] = [
  {
    id: "read-of-creation",
    section: READ,
    breaks: ["request.read"],
    sentence: "A read answers the request as it was created, still pending.",
    plant: answering(
      (about) => isSuccess(about) && about.operation === isRead,
      ({ body = "" }) => ({ body: stillPending(body) }),
    ),
  },
  {
    id: "unknown-is-410",
    section: READ,
    breaks: ["exchange.statuses", "request.read.unknown"],
    sentence: "Reading an unknown request returns 410.",
    plant: answering(
      ({ operation, problem }) => operation === isRead && problem?.status === 404,
      () => ({ status: 410 }),
    ),
  },
  {
    id: "unknown-request-is-403",
    section: READ,
    breaks: ["request.read.unknown", "request.cancel.unknown"],
    sentence: "Reading an unknown request returns 403.",
    plant: answering(
      ({ operation, problem }) =>
        (operation === isRead || operation === isCancel) && problem?.status === 404,
      () => ({ status: 403 }),
    ),
  },
  {
    id: "held-without-wait",
    section: READ,
    breaks: ["request.read.wait.omitted"],
    sentence: "A read without `wait` is held for a while.",
    plant: { readWait: (text) => (text === null ? 15_000 : CORRECT.readWait(text)) },
  },
  {
    id: "never-held",
    section: READ,
    breaks: ["request.read.wait.held"],
    sentence: "`wait` is ignored: every read answers at once.",
    plant: { hold: () => 0 },
  },
  {
    id: "held-in-milliseconds",
    section: READ,
    breaks: ["request.read.wait.held"],
    sentence: "`wait` is taken for milliseconds.",
    plant: { hold: (waitMs, request) => CORRECT.hold(waitMs / 1000, request) },
  },
  {
    id: "held-for-ever",
    section: READ,
    breaks: ["request.read.wait.still-pending", "request.read.wait.held"],
    sentence: "A held read of a pending request never answers.",
    plant: {
      hold: (waitMs, request) =>
        waitMs > 0 && request.decision === undefined ? 600_000 : CORRECT.hold(waitMs, request),
    },
  },
  {
    id: "held-when-terminal",
    section: READ,
    breaks: ["request.read.wait.terminal"],
    sentence: "A read with `wait` is held although the request is terminal.",
    plant: { hold: (waitMs) => Math.min(waitMs, 30_000) },
  },
  {
    id: "not-woken",
    section: READ,
    breaks: ["request.read.wait.terminal"],
    sentence: "A verdict does not end the polls that are held.",
    plant: { wakes: (cause) => cause !== "verdict" },
  },
  {
    id: "not-woken-by-cancel",
    section: CANCEL,
    breaks: ["request.read.wait.cancelled"],
    sentence: "A cancellation does not end the polls that are held.",
    plant: { wakes: (cause) => cause !== "cancel" },
  },
  {
    id: "wait-cap-refused",
    section: READ,
    breaks: ["request.read.wait.cap"],
    sentence: "A `wait` above 30 seconds is a 400.",
    plant: {
      readWait(text) {
        const waitMs = CORRECT.readWait(text);
        if (waitMs <= 30_000) return waitMs;
        throw new Problem("invalid_request", "wait is too long.", { param: "wait" });
      },
    },
  },
  {
    id: "wait-invalid-ignored",
    section: READ,
    breaks: ["request.read.wait.invalid"],
    sentence: "The provider ignores a `wait` that is not a duration.",
    plant: { readWait: (text) => parseDuration(text ?? "") ?? 0 },
  },
  {
    id: "wait-ended-is-204",
    section: "States, Other rules, 2",
    breaks: ["exchange.statuses", "request.read.wait.still-pending"],
    sentence: "A poll returns 204 when its wait has passed.",
    plant: {
      hold: (waitMs, request) => {
        if (waitMs > 0) waited.add(request.id);
        return CORRECT.hold(waitMs, request);
      },
      ...answering(
        (about, { body = "" }) =>
          about.operation === isRead && waited.has(about.id) && body.includes('"status":"pending"'),
        () => ({ status: 204, body: undefined }),
      ),
    },
  },
  {
    id: "poll-extends",
    section: "States, Other rules, 2",
    breaks: ["request.read.wait.keeps-deadline"],
    sentence: "A poll moves the deadline by a second.",
    plant: {
      hold: (waitMs, request) => {
        if (waitMs > 0) request.deadlineAt += 1_000;
        return CORRECT.hold(waitMs, request);
      },
    },
  },
];

const CANCELLATIONS: readonly Fault[] = [
  {
    id: "cancel-is-204",
    section: CANCEL,
    breaks: ["exchange.statuses", "request.cancel.pending"],
    sentence: "A cancellation is a 204 without the request.",
    plant: answering(
      (about) => isSuccess(about) && about.operation === isCancel,
      () => ({ status: 204, body: undefined }),
    ),
  },
  {
    id: "cancel-needs-key",
    section: CANCEL,
    breaks: ["request.cancel.pending"],
    sentence: "A cancellation without `Idempotency-Key` is refused.",
    plant: {
      key: (operation, headers) =>
        CORRECT.key(operation === isCancel ? "createApprovalRequest" : operation, headers),
    },
  },
  {
    id: "cancel-later",
    section: CANCEL,
    breaks: ["request.cancel.pending"],
    sentence: "A cancellation answers with the request as it was before, still pending.",
    plant: answering(
      (about) => isSuccess(about) && about.operation === isCancel,
      ({ body = "" }) => ({ body: stillPending(body) }),
    ),
  },
  {
    id: "cancel-repeated-is-409",
    section: CANCEL,
    breaks: ["request.cancel.repeat"],
    sentence: "Cancelling again is a 409.",
    plant: { cancelDecided: () => "conflict" },
  },
  {
    id: "cancel-repeated-anew",
    section: CANCEL,
    breaks: ["request.cancel.repeat"],
    sentence: "Cancelling again records a new cancellation.",
    plant: { cancelDecided: (status) => (status === "cancelled" ? "cancel" : "conflict") },
  },
  {
    id: "cancel-decided-shown",
    section: CANCEL,
    breaks: ["request.cancel.terminal"],
    sentence: "Cancelling a decided request is a 200 and changes nothing.",
    plant: { cancelDecided: () => "show" },
  },
  {
    id: "cancel-decided-changes",
    section: CANCEL,
    breaks: ["request.cancel.terminal", "request.terminal.unchanged"],
    sentence: "Cancelling an approved request makes it cancelled.",
    plant: { cancelDecided: () => "cancel" },
  },
  {
    id: "cancel-races",
    section: "States, Approval request",
    breaks: ["request.one-outcome", "request.terminal.unchanged"],
    sentence: "A cancellation overwrites a concurrent decision.",
    plant: {
      pause: (operation) => (operation === isCancel ? sleep(500) : undefined),
    },
  },
  {
    id: "cancel-decided-code",
    section: "Errors, Known codes",
    breaks: ["request.cancel.terminal"],
    sentence: "The code for cancelling a decided request is `not_pending`.",
    plant: answering(hasCode("already_terminal"), ({ body }) => ({
      body: body?.replace("already_terminal", "not_pending"),
    })),
  },
  {
    id: "cancel-unknown",
    section: CANCEL,
    breaks: ["request.cancel.unknown"],
    sentence: "Cancelling an unknown request returns 409.",
    plant: answering(
      ({ operation, problem }) => operation === isCancel && problem?.status === 404,
      (_, { requestId }) => ({
        status: 409,
        body: JSON.stringify(errorResponse(new Problem("already_terminal"), requestId)),
      }),
    ),
  },
];

export const READ_FAULTS: readonly Fault[] = [...POLLS, ...CANCELLATIONS];
