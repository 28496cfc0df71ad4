/** Rules for approval requests and decisions. */

import type { RequirementTable } from "./requirement.ts";

const WEEK = "the kit does not wait for a week";

export const REQUESTS = {
  // Resources: CreateApprovalRequest
  "request.create.required": {
    source: "Resources, CreateApprovalRequest",
    text: "The provider rejects a submission without `tool`, `arguments` or `timeout` with 400.",
    check: "scenario",
  },
  "request.create.types": {
    source: "Resources, CreateApprovalRequest",
    text:
      "The provider rejects a submission with a field of the wrong type, null " +
      "included, with 400.",
    check: "scenario",
  },
  "request.create.additional-properties": {
    source: "Resources, CreateApprovalRequest",
    text: "The provider rejects a submission with an unknown property with 400.",
    check: "scenario",
  },
  "request.create.no-delivery": {
    source: "Resources, CreateApprovalRequest",
    text: "The provider rejects a submission with a delivery with 400.",
    check: "scenario",
  },
  "request.create.body-object": {
    source: "Resources, CreateApprovalRequest",
    text:
      "The provider rejects a submission with a missing body, or one that is not a " +
      "JSON object, with 400.",
    check: "scenario",
  },
  // Resources: ApprovalRequest
  "request.shape": {
    source: "Resources, ApprovalRequest",
    text:
      "A request has exactly the fields of the contract; a field that was not " +
      "submitted is absent, never null.",
    check: "every answer",
  },
  "request.as-submitted": {
    source: "Resources, ApprovalRequest",
    text: "The provider returns tool, arguments, reasoning and context as submitted.",
    check: "scenario",
  },
  "request.timeout.as-submitted": {
    source: "Resources, ApprovalRequest",
    text: "The provider returns `timeout` as submitted, also when it accepted a shorter window.",
    check: "scenario",
  },
  "request.deadline.window": {
    source: "Resources, ApprovalRequest",
    text: "`deadline_at` is later than `created_at`.",
    check: "every answer",
  },
  "request.immutable": {
    source: "Resources, ApprovalRequest",
    text: "A decision changes no field of a request except `status` and `decision`.",
    check: "scenario",
  },
  "request.decision.absent-while-pending": {
    source: "Resources, ApprovalRequest",
    text: "A pending request has no `decision`.",
    check: "every answer",
  },
  "request.decision.matches-status": {
    source: "Resources, ApprovalRequest",
    text: "A terminal request has a decision with the status of the request.",
    check: "every answer",
  },
  // Resources: Decision
  "decision.shape": {
    source: "Resources, Decision",
    text:
      "A decision has a status, a `decided_at`, an optional note and expiry, and no " +
      "other fields.",
    check: "every answer",
  },
  "decision.expiry.approved": {
    source: "Resources, Decision",
    text: "An approval has an `expires_at` later than its `decided_at`.",
    check: "every answer",
  },
  "decision.expiry.absent-otherwise": {
    source: "Resources, Decision",
    text: "A denial, an expiry and a cancellation have no `expires_at`.",
    check: "every answer",
  },
  "decision.note.inert": {
    source: "Resources, Decision",
    text: "A note does not change the arguments.",
    check: "scenario",
  },
  "decision.expiry.not-extended": {
    source: "Resources, Decision",
    text: "Reading or replaying an approval does not change its decision.",
    check: "scenario",
  },
  "decision.expiry.keeps-status": {
    source: "Resources, Decision",
    text: "An approval keeps the status `approved` after its `expires_at`.",
    check: "scenario",
  },
  // States
  "request.create.decided": {
    source: "States, Approval request",
    text:
      "A submission that the provider decides at once returns 201 with a terminal " +
      "status and its decision.",
    untestable: "the kit cannot make a provider decide at once",
  },
  "request.approve": {
    source: "States, Approval request",
    text: "An approval makes a pending request `approved`.",
    check: "scenario",
  },
  "request.deny": {
    source: "States, Approval request",
    text: "A denial makes a pending request `denied`.",
    check: "scenario",
  },
  "request.expire": {
    source: "States, Approval request",
    text: "A request without a decision within its window becomes `expired`.",
    check: "scenario",
  },
  "request.expire.not-early": {
    source: "States, Approval request",
    text: "A request does not expire before its `deadline_at`.",
    check: "scenario",
  },
  "request.expire.no-late-approval": {
    source: "States, Approval request",
    text: "The provider records no approval and no denial at or after `deadline_at`.",
    check: "scenario",
  },
  "request.one-outcome": {
    source: "States, Approval request",
    text:
      "Of concurrent decisions, cancellations and expiry exactly one wins, and every " +
      "response shows it.",
    check: "scenario",
  },
  "request.terminal.unchanged": {
    source: "States, Other rules, 1",
    text: "No later verdict, cancellation, expiry or deletion changes a terminal decision.",
    check: "scenario",
  },
  "request.read.wait.still-pending": {
    source: "States, Other rules, 2",
    text: "When the wait is over, a read returns the request, still pending.",
    check: "scenario",
  },
  "request.read.wait.keeps-deadline": {
    source: "States, Other rules, 2",
    text: "Polling does not change the deadline.",
    check: "scenario",
  },
  // Endpoints: POST /v1/requests
  "request.create": {
    source: "Endpoints, POST /v1/requests",
    text: "A new submission returns 201 and the recorded request.",
    check: "scenario",
  },
  "request.create.key-required": {
    source: "Endpoints, POST /v1/requests",
    text:
      "The provider rejects a submission without `Idempotency-Key`, or with an empty " +
      "one, with 400.",
    check: "scenario",
  },
  "request.create.key-scope": {
    source: "Endpoints, POST /v1/requests",
    text: "A key is scoped to one instance and this operation.",
    check: "scenario",
  },
  "request.create.key-distinct": {
    source: "Endpoints, POST /v1/requests",
    text: "Another key creates another request, also for the same input.",
    check: "scenario",
  },
  "request.create.replay": {
    source: "Endpoints, POST /v1/requests",
    text:
      "The same key and input return the existing request in its current state with " +
      "200, also after a lost response.",
    check: "scenario",
  },
  "request.create.conflict": {
    source: "Endpoints, POST /v1/requests",
    text: "The same key with other input in any field returns 409 `idempotency_conflict`.",
    check: "scenario",
  },
  "request.create.conflict-exact": {
    source: "Endpoints, POST /v1/requests",
    text: "Inputs that differ only beyond the precision of a binary double are different inputs.",
    check: "scenario",
  },
  "request.create.concurrent": {
    source: "Endpoints, POST /v1/requests",
    text:
      "Concurrent submissions with one key create one request: one returns 201, the " +
      "others 200.",
    check: "scenario",
  },
  "request.retention.pending": {
    source: "Endpoints, POST /v1/requests",
    text: "The provider keeps a pending request and its key for as long as it is pending.",
    untestable: WEEK,
  },
  "request.retention.no-access": {
    source: "Events, Delivery rules, 5",
    text: "A request that outlives its instance returns 401 to the credential of the instance.",
    check: "scenario",
  },
  "request.retention.terminal": {
    source: "Endpoints, POST /v1/requests",
    text:
      "The provider keeps a terminal request and its key for at least 168 hours from " +
      "`decision.decided_at`; a replay does not extend that.",
    untestable: WEEK,
  },
  // Endpoints: GET /v1/requests/{id}
  "request.read": {
    source: "Endpoints, GET /v1/requests/{id}",
    text: "Reading a request returns 200 and its current state.",
    check: "scenario",
  },
  "request.read.wait.omitted": {
    source: "Endpoints, GET /v1/requests/{id}",
    text: "Without `wait` a read returns at once.",
    check: "scenario",
  },
  "request.read.wait.held": {
    source: "Endpoints, GET /v1/requests/{id}",
    text:
      "With `wait` the provider holds a read of a pending request until the wait is " +
      "over or the request is terminal.",
    check: "scenario",
  },
  "request.read.wait.terminal": {
    source: "Endpoints, GET /v1/requests/{id}",
    text:
      "A held read returns when the request becomes terminal, and a read of a terminal " +
      "request returns at once.",
    check: "scenario",
  },
  "request.read.wait.cap": {
    source: "Endpoints, GET /v1/requests/{id}",
    text:
      "The provider accepts a `wait` above 30 seconds and holds the read for at most " +
      "30 seconds.",
    check: "scenario",
  },
  "request.read.wait.invalid": {
    source: "Endpoints, GET /v1/requests/{id}",
    text: "The provider rejects a `wait` that is not a duration with 400.",
    check: "scenario",
  },
  "request.read.wait.cancelled": {
    source: "Endpoints, GET /v1/requests/{id}",
    text: "Cancelling a request ends its held reads.",
    check: "scenario",
  },
  "request.read.unknown": {
    source: "Endpoints, GET /v1/requests/{id}",
    text: "Reading a request that does not exist returns 404.",
    check: "scenario",
  },
  // Endpoints: DELETE /v1/requests/{id}
  "request.cancel.pending": {
    source: "Endpoints, DELETE /v1/requests/{id}",
    text:
      "Cancelling a pending request returns 200 and the cancelled request, without a " +
      "key or a body.",
    check: "scenario",
  },
  "request.cancel.repeat": {
    source: "Endpoints, DELETE /v1/requests/{id}",
    text: "Cancelling a cancelled request returns 200 and the same request.",
    check: "scenario",
  },
  "request.cancel.terminal": {
    source: "Endpoints, DELETE /v1/requests/{id}",
    text:
      "Cancelling an approved, denied or expired request returns 409 " +
      "`already_terminal` and changes nothing.",
    check: "scenario",
  },
  "request.cancel.creator-only": {
    source: "Endpoints, DELETE /v1/requests/{id}",
    text: "Only the instance that created a request can cancel it.",
    check: "scenario",
  },
  "request.cancel.unknown": {
    source: "Endpoints, DELETE /v1/requests/{id}",
    text: "Cancelling a request that does not exist returns 404.",
    check: "scenario",
  },
} as const satisfies RequirementTable;
