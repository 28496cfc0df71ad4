/**
 * Faults of submitting the same again.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { equalJson, JsonObject, type JsonValue } from "@countersign/protocol";
import { notify } from "../notifications.ts";
import {
  answering,
  CORRECT,
  type Fault,
  hasCode,
  memberOf,
  stillPending,
  throughJavaScript,
} from "./fault.ts";

const CREATE = "Endpoints, POST /v1/requests";

const CREATE_OPERATION = "createApprovalRequest";

function sourceOf(body: JsonValue): string {
  return body instanceof JsonObject ? body.source : "";
}

/** Long enough for concurrent requests to read the key too. */
const RACE_MS = 1_000;

let counter = 0;

export const REPLAY_FAULTS: readonly Fault[] = [
  {
    id: "replay-is-new",
    section: CREATE,
    breaks: ["request.create.replay"],
    sentence: "The provider ignores keys: each submission creates a request.",
    plant: {
      submissionScope: (_, key) => {
        counter += 1;
        return `${counter} ${key}`;
      },
    },
  },
  {
    id: "replay-is-201",
    section: CREATE,
    breaks: ["request.create.replay"],
    sentence: "A replay answers 201.",
    plant: answering(
      ({ operation, isReplay }) => isReplay && operation === CREATE_OPERATION,
      () => ({ status: 201 }),
    ),
  },
  {
    id: "replay-of-old-state",
    section: CREATE,
    breaks: ["request.create.replay"],
    sentence: "A replay answers the request as it was created, still pending.",
    plant: answering(
      ({ operation, isReplay }) => isReplay && operation === CREATE_OPERATION,
      ({ body = "" }) => ({ body: stillPending(body) }),
    ),
  },
  {
    id: "replay-refused",
    section: CREATE,
    breaks: ["request.create.replay"],
    sentence: "A key that was used is a conflict, also with the same input.",
    plant: { isSameInput: (operation) => operation !== CREATE_OPERATION },
  },
  {
    id: "replay-extends",
    section: "States, Other rules",
    breaks: ["request.create.replay", "request.read.wait.keeps-deadline", "request.immutable"],
    sentence: "A replay restarts the window.",
    plant: {
      replayed: (request) => {
        const windowMs = request.deadlineAt - request.createdAt;
        request.deadlineAt = CORRECT.deadline(Date.now(), windowMs);
      },
    },
  },
  {
    id: "replay-notifies",
    section: CREATE,
    breaks: ["delivery.request.replay-silent", "event.emitted"],
    sentence: "A replay of a decided request notifies again.",
    plant: {
      replayed: (request, ledger) => {
        if (request.decision === undefined) return;
        notify({ ...ledger, conduct: CORRECT }, request, request.decision, "verdict");
      },
    },
    seenBy: ["notify.single"],
  },
  {
    id: "conflict-ignored",
    section: CREATE,
    breaks: ["request.create.conflict"],
    sentence: "Other input under a used key answers the first request.",
    plant: {
      isSameInput: (operation, before, now) =>
        operation === CREATE_OPERATION || CORRECT.isSameInput(operation, before, now),
    },
  },
  {
    id: "conflict-of-arguments-alone",
    section: CREATE,
    breaks: ["request.create.conflict"],
    sentence: "Timeout, reasoning and context are not compared.",
    plant: {
      isSameInput: (operation, before, now) =>
        operation === CREATE_OPERATION
          ? ["tool", "arguments"].every((name) =>
              equalJson(memberOf(before, name) ?? null, memberOf(now, name) ?? null),
            )
          : CORRECT.isSameInput(operation, before, now),
    },
  },
  {
    id: "conflict-of-rounded",
    section: CREATE,
    breaks: ["request.create.conflict-exact"],
    sentence: "Inputs are compared after JSON.parse and JSON.stringify.",
    plant: {
      isSameInput: (_, before, now) =>
        throughJavaScript(sourceOf(before)) === throughJavaScript(sourceOf(now)),
    },
  },
  {
    id: "conflict-is-422",
    section: "Errors, Known codes",
    breaks: ["exchange.statuses", "request.create.conflict", "error.codes"],
    sentence: "A conflict of keys is a 422.",
    plant: answering(hasCode("idempotency_conflict"), () => ({ status: 422 })),
  },
  {
    id: "conflict-code",
    section: "Errors, Known codes",
    breaks: ["request.create.conflict"],
    sentence: "The code of a conflict is `conflict`.",
    plant: answering(hasCode("idempotency_conflict"), ({ body }) => ({
      body: body?.replace("idempotency_conflict", "conflict"),
    })),
  },
  {
    id: "create-races",
    section: CREATE,
    breaks: ["request.create.concurrent"],
    sentence: "Submissions with one key at the same time open a request each.",
    plant: { pause: (operation) => (operation === CREATE_OPERATION ? sleep(RACE_MS) : undefined) },
  },
];
