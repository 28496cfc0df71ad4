import type { RequirementTable } from "./requirement.ts";

const ALL = "Endpoints";
const PROVISION = "Endpoints, POST /v1/instances";
const READ_INSTANCE = "Endpoints, GET /v1/instances/{id}";
const UPDATE = "Endpoints, PATCH /v1/instances/{id}";
const DELETE = "Endpoints, DELETE /v1/instances/{id}";
const CREATE = "Endpoints, POST /v1/requests";
const READ = "Endpoints, GET /v1/requests/{id}";
const CANCEL = "Endpoints, DELETE /v1/requests/{id}";

const DAYS = "the kit does not wait for a week";

export const ENDPOINTS = {
  "endpoints.x-request-id": {
    source: ALL,
    text: "Every response carries `X-Request-ID`, a UUID of that exchange alone.",
    check: "every answer",
  },
  "endpoints.content-type": {
    source: ALL,
    text: "Every success response but 204 is `application/json`.",
    check: "every answer",
  },
  "endpoints.statuses": {
    source: ALL,
    text: "Each operation answers with the success and error statuses of the contract alone.",
    check: "every answer",
  },
  "endpoints.path-id": {
    source: "Endpoints, Provider operations",
    text: "A path id that is no identifier is a 404, or a 400 where the operation has it.",
    check: "scenario",
  },
  "endpoints.provision.created": {
    source: PROVISION,
    text: "A new provisioning is a 201 with an instance whose credential works.",
    check: "scenario",
  },
  "endpoints.provision.key-required": {
    source: PROVISION,
    text: "A provisioning without `Idempotency-Key`, or with an empty one, is refused with 400.",
    check: "scenario",
  },
  "endpoints.provision.key-scope.operation": {
    source: PROVISION,
    text: "A key belongs to this operation: in another operation the same key is another.",
    check: "scenario",
  },
  "endpoints.provision.key-scope.provisioner": {
    source: PROVISION,
    text: "A key belongs to one provisioner: the same key of another provisioner is another.",
    check: "scenario",
  },
  "endpoints.provision.replay": {
    source: PROVISION,
    text: "The same key and input answer the original instance and credential with 200.",
    check: "scenario",
  },
  "endpoints.provision.conflict": {
    source: PROVISION,
    text: "The same key with other input is a 409 `idempotency_conflict`.",
    check: "scenario",
  },
  "endpoints.provision.replay-deleted": {
    source: PROVISION,
    text: "A replay after the instance was deleted is a 409 `instance_deleted`.",
    check: "scenario",
  },
  "endpoints.provision.concurrent": {
    source: PROVISION,
    text: "Concurrent provisionings with one key commit one instance.",
    check: "scenario",
  },
  "endpoints.provision.lost-response": {
    source: "Errors, Retry guidance",
    text: "A provisioning whose response was lost is had by sending it again, once.",
    check: "scenario",
  },
  "endpoints.provision.retention": {
    source: PROVISION,
    text: "Key and result are kept for at least 168 hours from the creation.",
    untestable: DAYS,
  },
  "endpoints.provision.verified-first": {
    source: PROVISION,
    text: "The receiver is verified before the instance exists.",
    check: "scenario",
  },
  "endpoints.provision.verification-failed": {
    source: PROVISION,
    text: "A failed verification is a 422 `webhook_verification_failed` and creates nothing.",
    check: "scenario",
  },
  "endpoints.provision.retry-after-failure": {
    source: PROVISION,
    text: "After a failed verification the same key and input may be tried again.",
    check: "scenario",
  },
  "endpoints.provision.replay-unverified": {
    source: PROVISION,
    text: "A replay does not repeat the verification.",
    check: "scenario",
  },
  "endpoints.provision.coalesced": {
    source: PROVISION,
    text: "Concurrent provisionings with one key verify once.",
    check: "scenario",
  },
  "endpoints.read-instance": {
    source: READ_INSTANCE,
    text: "Reading an instance is a 200 with the instance.",
    check: "scenario",
  },
  "endpoints.read-instance.deleted": {
    source: READ_INSTANCE,
    text: "Reading a deleted instance is a 404.",
    check: "scenario",
  },
  "endpoints.read-instance.unknown": {
    source: READ_INSTANCE,
    text: "Reading an instance that never was is a 404.",
    check: "scenario",
  },
  "endpoints.update": {
    source: UPDATE,
    text: "An update is a 200 with the instance as it is now.",
    check: "scenario",
  },
  "endpoints.update.omitted": {
    source: UPDATE,
    text: "What an update omits stays as it was.",
    check: "scenario",
  },
  "endpoints.update.key-required": {
    source: UPDATE,
    text: "An update without `Idempotency-Key`, or with an empty one, is refused with 400.",
    check: "scenario",
  },
  "endpoints.update.key-scope": {
    source: UPDATE,
    text: "A key belongs to one instance: the same key at another instance is another.",
    check: "scenario",
  },
  "endpoints.update.replay": {
    source: UPDATE,
    text: "The same key and input answer the original response and apply nothing again.",
    check: "scenario",
  },
  "endpoints.update.conflict": {
    source: UPDATE,
    text: "The same key with other input is a 409 `idempotency_conflict`.",
    check: "scenario",
  },
  "endpoints.update.replay-deleted": {
    source: UPDATE,
    text: "A replay against a deleted instance is a 404, and restores nothing.",
    check: "scenario",
  },
  "endpoints.update.unknown": {
    source: UPDATE,
    text: "Updating an instance that never was, or is deleted, is a 404.",
    check: "scenario",
  },
  "endpoints.update.concurrent": {
    source: UPDATE,
    text: "Concurrent updates with one key commit once, and answer alike.",
    check: "scenario",
  },
  "endpoints.update.retention": {
    source: UPDATE,
    text: "Key and result are kept for at least 168 hours from the update.",
    untestable: DAYS,
  },
  "endpoints.update.delivery.replaced": {
    source: UPDATE,
    text: "A supplied delivery replaces the whole configuration, the secret included.",
    check: "scenario",
  },
  "endpoints.update.delivery.removed": {
    source: UPDATE,
    text: "A null delivery removes the receiver and ends outstanding delivery.",
    check: "scenario",
  },
  "endpoints.update.delivery.queued": {
    source: UPDATE,
    text: "Later attempts of queued notifications go to the new URL, signed with the new secret.",
    check: "scenario",
  },
  "endpoints.update.delivery.ended": {
    source: UPDATE,
    text: "A notification whose delivery has ended is not sent to a new receiver.",
    check: "scenario",
  },
  "endpoints.update.verification-failed": {
    source: UPDATE,
    text: "A failed verification is a 422 and changes nothing; the same key may be tried again.",
    check: "scenario",
  },
  "endpoints.update.replay-unverified": {
    source: UPDATE,
    text: "A replayed update neither verifies nor applies again.",
    check: "scenario",
  },
  "endpoints.update.coalesced": {
    source: UPDATE,
    text: "Concurrent updates with one key verify once.",
    check: "scenario",
  },
  "endpoints.delete": {
    source: DELETE,
    text: "Deleting an instance is a 204 without a body, and needs no key.",
    check: "scenario",
  },
  "endpoints.delete.repeat": {
    source: DELETE,
    text: "Deleting it again is a 204.",
    check: "scenario",
  },
  "endpoints.delete.unknown": {
    source: DELETE,
    text: "Deleting an instance that never was is a 404.",
    check: "scenario",
  },
  "endpoints.delete.credentials": {
    source: DELETE,
    text: "From the 204 on the credential of the instance is answered 401.",
    check: "scenario",
  },
  "endpoints.delete.delivery": {
    source: DELETE,
    text: "Deleting an instance ends its delivery, and tells of no cancellation.",
    check: "scenario",
  },
  "endpoints.delete.retention": {
    source: DELETE,
    text: "The deletion record is kept for at least 168 hours.",
    untestable: DAYS,
  },
  "endpoints.create": {
    source: CREATE,
    text: "A new submission is a 201 with the request as it was recorded.",
    check: "scenario",
  },
  "endpoints.create.key-required": {
    source: CREATE,
    text: "A submission without `Idempotency-Key`, or with an empty one, is refused with 400.",
    check: "scenario",
  },
  "endpoints.create.key-scope": {
    source: CREATE,
    text: "A key belongs to one instance: the same key of another instance opens another request.",
    check: "scenario",
  },
  "endpoints.create.key-distinct": {
    source: CREATE,
    text: "Another key opens another request, whatever the input.",
    check: "scenario",
  },
  "endpoints.create.replay": {
    source: CREATE,
    text: "The same key and input answer the existing request in its current state with 200.",
    check: "scenario",
  },
  "endpoints.create.conflict": {
    source: CREATE,
    text: "The same key with other input in any field is a 409 `idempotency_conflict`.",
    check: "scenario",
  },
  "endpoints.create.conflict-exact": {
    source: CREATE,
    text: "Inputs that differ only beyond what a binary double holds are different inputs.",
    check: "scenario",
  },
  "endpoints.create.concurrent": {
    source: CREATE,
    text: "Concurrent submissions with one key open one request: one 201, else 200.",
    check: "scenario",
  },
  "endpoints.create.lost-response": {
    source: "Errors, Retry guidance",
    text: "A submission whose response was lost is had by sending it again, once.",
    check: "scenario",
  },
  "endpoints.create.recorded-together": {
    source: CREATE,
    text: "A terminal outcome and its notification are recorded durably together.",
    untestable: "the kit cannot stop the provider between two writes",
  },
  "endpoints.create.replay-silent": {
    source: CREATE,
    text: "A replay creates no further notification.",
    check: "scenario",
  },
  "endpoints.create.retention": {
    source: CREATE,
    text: "Request and key are kept while pending and for at least 168 hours from the decision.",
    untestable: DAYS,
  },
  "endpoints.read": {
    source: READ,
    text: "Reading a request is a 200 with its current state.",
    check: "scenario",
  },
  "endpoints.read.unknown": {
    source: READ,
    text: "Reading a request that is not there is a 404.",
    check: "scenario",
  },
  "endpoints.read.no-wait": {
    source: READ,
    text: "Without `wait` a read of a pending request answers at once.",
    check: "scenario",
  },
  "endpoints.read.wait": {
    source: READ,
    text: "With `wait` a read of a pending request is held, until the wait has passed.",
    check: "scenario",
  },
  "endpoints.read.wait.terminal": {
    source: READ,
    text:
      "A held read answers when the request becomes terminal; one of a terminal request at " +
      "once.",
    check: "scenario",
  },
  "endpoints.read.wait.cancelled": {
    source: READ,
    text: "Cancelling a request ends the polls that are held on it.",
    check: "scenario",
  },
  "endpoints.read.wait.cap": {
    source: READ,
    text: "A `wait` above 30 seconds is accepted, and held for 30 seconds at most.",
    check: "scenario",
  },
  "endpoints.read.wait.invalid": {
    source: READ,
    text: "A `wait` that is no duration is refused with 400.",
    check: "scenario",
  },
  "endpoints.cancel": {
    source: CANCEL,
    text: "Cancelling a pending request is a 200 with the cancelled request, and needs no key.",
    check: "scenario",
  },
  "endpoints.cancel.repeat": {
    source: CANCEL,
    text: "Cancelling it again is a 200 with the same cancelled request.",
    check: "scenario",
  },
  "endpoints.cancel.terminal": {
    source: CANCEL,
    text: "Cancelling what is approved, denied or expired is a 409 `already_terminal`.",
    check: "scenario",
  },
  "endpoints.cancel.creator": {
    source: CANCEL,
    text: "Only the creating instance can cancel a request.",
    check: "scenario",
  },
  "endpoints.cancel.unknown": {
    source: CANCEL,
    text: "Cancelling a request that is not there is a 404.",
    check: "scenario",
  },
} as const satisfies RequirementTable;
