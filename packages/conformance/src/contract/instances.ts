/** Rules for instances and their credentials, with and without a receiver. */

import type { RequirementTable } from "./requirement.ts";

const WEEK = "the kit does not wait for a week";

export const INSTANCES = {
  // Resources
  "instance.shape": {
    source: "Resources, Instance",
    text:
      "An instance has an id, a name, a `delivery` only while a receiver is " +
      "configured, and no other fields.",
    check: "every answer",
  },
  "instance.read.no-secrets": {
    source: "Resources, Instance",
    text:
      "No response contains a credential or a signing secret, except the token in the " +
      "response to a provisioning.",
    check: "every answer",
  },
  "instance.name.assigned": {
    source: "Resources, Instance",
    text: "The provider gives an instance without a name one of at least one character.",
    check: "scenario",
  },
  "credential.shape": {
    source: "Resources, IssuedCredential",
    text:
      "A credential has a token of at least one character, an `expires_at` only when " +
      "an expiry is scheduled, and no other fields.",
    check: "every answer",
  },
  "instance.provision.shape": {
    source: "Resources, ProvisionInstanceResponse",
    text: "A provisioning returns the instance and its credential, and no other fields.",
    check: "every answer",
  },
  "instance.provision.empty-object": {
    source: "Resources, ProvisionInstanceRequest",
    text: "An empty object provisions an instance.",
    check: "scenario",
  },
  "instance.provision.body-object": {
    source: "Resources, ProvisionInstanceRequest",
    text:
      "The provider rejects a provisioning with a missing body, or one that is not a " +
      "JSON object, with 400.",
    check: "scenario",
  },
  "instance.provision.name": {
    source: "Resources, ProvisionInstanceRequest",
    text:
      "A string of at least one character in `instance_name` becomes the name; the " +
      "provider rejects other values with 400.",
    check: "scenario",
  },
  "instance.provision.additional-properties": {
    source: "Resources, ProvisionInstanceRequest",
    text: "The provider rejects a provisioning with an unknown property with 400.",
    check: "scenario",
  },
  "instance.provision.delivery-null": {
    source: "Resources, ProvisionInstanceRequest",
    text: "The provider rejects a provisioning with a null delivery with 400.",
    check: "scenario",
  },
  "instance.update.name": {
    source: "Resources, UpdateInstanceRequest",
    text:
      "The provider rejects an update with an `instance_name` that is not a string of " +
      "at least one character with 400.",
    check: "scenario",
  },
  "instance.update.additional-properties": {
    source: "Resources, UpdateInstanceRequest",
    text: "The provider rejects an update with an unknown property with 400.",
    check: "scenario",
  },
  "instance.update.not-empty": {
    source: "Resources, UpdateInstanceRequest",
    text: "The provider rejects an update without any property with 400.",
    check: "scenario",
  },
  "instance.update.delivery-null": {
    source: "Resources, UpdateInstanceRequest",
    text:
      "The provider accepts an update with a null delivery, and the instance has no " +
      "receiver afterwards.",
    check: "scenario",
  },
  // States
  "instance.update.refused-changes-nothing": {
    source: "States, Instance",
    text: "A rejected update changes nothing, the name included.",
    check: "scenario",
  },
  "instance.delete.serialised": {
    source: "States, Instance",
    text:
      "A deletion concurrent with creations, decisions and updates leaves no pending " +
      "request and no valid credential.",
    check: "scenario",
  },
  "instance.delete.no-decision": {
    source: "States, Instance",
    text:
      "After the deletion of its instance, a pending request becomes `cancelled`, and " +
      "never approved, denied or expired.",
    untestable: "deletion revokes every credential that could read the request",
  },
  // Endpoints: POST /v1/instances
  "instance.provision.created": {
    source: "Endpoints, POST /v1/instances",
    text: "A new provisioning returns 201 with an instance and a valid credential.",
    check: "scenario",
  },
  "instance.provision.key-required": {
    source: "Endpoints, POST /v1/instances",
    text:
      "The provider rejects a provisioning without `Idempotency-Key`, or with an empty " +
      "one, with 400.",
    check: "scenario",
  },
  "instance.provision.key-scope": {
    source: "Endpoints, POST /v1/instances",
    text: "A key is scoped to one provisioner and this operation.",
    check: "scenario",
  },
  "instance.provision.replay": {
    source: "Endpoints, POST /v1/instances",
    text:
      "The same key and input return the original instance with 200 and create " +
      "nothing, also after a lost response.",
    check: "scenario",
  },
  "instance.provision.replay.not-renewed": {
    source: "Endpoints, POST /v1/instances",
    text: "A replay returns the original token and its original expiry.",
    check: "scenario",
  },
  "instance.provision.conflict": {
    source: "Endpoints, POST /v1/instances",
    text: "The same key with other input returns 409 `idempotency_conflict`.",
    check: "scenario",
  },
  "instance.provision.replay.deleted": {
    source: "Endpoints, POST /v1/instances",
    text:
      "A replay after the deletion of the instance returns 409 `instance_deleted` and " +
      "recreates nothing.",
    check: "scenario",
  },
  "instance.provision.concurrent": {
    source: "Endpoints, POST /v1/instances",
    text: "Concurrent provisionings with one key commit one instance.",
    check: "scenario",
  },
  "instance.provision.retention": {
    source: "Endpoints, POST /v1/instances",
    text:
      "The provider keeps key and result for at least 168 hours from the creation; a " +
      "replay does not extend that.",
    untestable: WEEK,
  },
  // Endpoints: GET /v1/instances/{id}
  "instance.read": {
    source: "Endpoints, GET /v1/instances/{id}",
    text: "Reading an instance returns 200 and the instance.",
    check: "scenario",
  },
  "instance.read.deleted": {
    source: "Endpoints, GET /v1/instances/{id}",
    text: "Reading a deleted instance returns 404.",
    check: "scenario",
  },
  "instance.read.unknown": {
    source: "Endpoints, GET /v1/instances/{id}",
    text: "Reading an instance that never existed returns 404.",
    check: "scenario",
  },
  // Endpoints: PATCH /v1/instances/{id}
  "instance.update.renames": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "An update returns 200 and the changed instance.",
    check: "scenario",
  },
  "instance.update.omitted-unchanged": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "A field that an update omits keeps its value.",
    check: "scenario",
  },
  "instance.update.key-required": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text:
      "The provider rejects an update without `Idempotency-Key`, or with an empty one, " +
      "with 400.",
    check: "scenario",
  },
  "instance.update.key-scope": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "A key is scoped to one provisioner, one instance and this operation.",
    check: "scenario",
  },
  "instance.update.replay": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text:
      "The same key and input return the original response and apply nothing, also " +
      "after a later update.",
    check: "scenario",
  },
  "instance.update.conflict": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "The same key with other input returns 409 `idempotency_conflict`.",
    check: "scenario",
  },
  "instance.update.replay.deleted": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "A replay against a deleted instance returns 404 and restores nothing.",
    check: "scenario",
  },
  "instance.update.concurrent": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "Concurrent updates with one key commit once and return the same response.",
    check: "scenario",
  },
  "instance.update.retention": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text:
      "The provider keeps key and result for at least 168 hours from the update; a " +
      "replay does not extend that.",
    untestable: WEEK,
  },
  "instance.update.unknown": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "Updating an unknown or deleted instance returns 404.",
    check: "scenario",
  },
  // Endpoints: DELETE /v1/instances/{id}
  "instance.delete": {
    source: "Endpoints, DELETE /v1/instances/{id}",
    text: "Deleting an instance returns 204 without a body and needs no `Idempotency-Key`.",
    check: "scenario",
  },
  "instance.delete.repeat": {
    source: "Endpoints, DELETE /v1/instances/{id}",
    text: "Deleting a deleted instance returns 204.",
    check: "scenario",
  },
  "instance.delete.unknown": {
    source: "Endpoints, DELETE /v1/instances/{id}",
    text: "Deleting an instance that never existed returns 404.",
    check: "scenario",
  },
  "instance.delete.record-retention": {
    source: "Endpoints, DELETE /v1/instances/{id}",
    text: "The provider keeps the deletion record for at least 168 hours.",
    untestable: WEEK,
  },
  "instance.delete.credentials-revoked": {
    source: "Endpoints, DELETE /v1/instances/{id}",
    text: "From the 204 on, every credential of the instance returns 401.",
    check: "scenario",
  },
  "instance.delete.pending-cancelled": {
    source: "Endpoints, DELETE /v1/instances/{id}",
    text: "The deletion cancels the pending requests of the instance, which ends their held reads.",
    check: "scenario",
  },
  "instance.delete.terminal-kept": {
    source: "Endpoints, DELETE /v1/instances/{id}",
    text: "The deletion of an instance does not change its terminal decisions.",
    untestable: "deletion revokes every credential that could read the request",
  },
} as const satisfies RequirementTable;
