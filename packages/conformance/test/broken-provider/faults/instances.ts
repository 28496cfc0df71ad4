/**
 * Faults of what instances look like, what is accepted for them, and their end.
 */

import { JsonObject } from "@countersign/protocol";
import type { DeletionStep } from "../conduct-requests.ts";
import { objectText } from "../wire.ts";
import {
  answering,
  CORRECT,
  EMPTY_OBJECT,
  type Fault,
  isSuccess,
  memberOf,
  onlyKnown,
  withMember,
} from "./fault.ts";

const INSTANCE = "Resources, Instance";
const DELETE = "Endpoints, DELETE /v1/instances/{id}";
const PROVISION_INPUT = "Resources, ProvisionInstanceRequest";
const UPDATE_INPUT = "Resources, UpdateInstanceRequest";

const SHAPES: readonly Fault[] = [
  {
    id: "instance-more",
    section: INSTANCE,
    breaks: ["instance.shape"],
    sentence: "An instance shows the project that it belongs to.",
    plant: {
      showInstance: (members, { project }) => ({ ...members, project: JSON.stringify(project) }),
    },
  },
  {
    id: "instance-delivery-null",
    section: INSTANCE,
    breaks: ["instance.shape"],
    sentence: "An instance without a receiver has a delivery of null.",
    plant: {
      showInstance: (members) => ({ ...members, delivery: members.delivery ?? "null" }),
    },
  },
  {
    id: "instance-delivery-missing",
    section: INSTANCE,
    breaks: ["instance.shape", "delivery.update.replaces"],
    sentence: "An instance never shows its delivery.",
    plant: { showInstance: (members) => ({ ...members, delivery: undefined }) },
  },
  {
    id: "instance-shows-token",
    section: INSTANCE,
    breaks: ["instance.read.no-secrets", "instance.shape"],
    sentence: "The name of an instance holds its credential.",
    plant: {
      showInstance: (members, { token }) => ({ ...members, name: JSON.stringify(token) }),
    },
  },
  {
    id: "name-empty",
    section: INSTANCE,
    breaks: ["instance.name.assigned", "instance.shape"],
    sentence: "An instance that was provisioned without a name has an empty one.",
    plant: { assignName: () => "" },
  },
  {
    id: "credential-more",
    section: "Resources, IssuedCredential",
    breaks: ["credential.shape"],
    sentence: "A credential has a type.",
    plant: { showCredential: (members) => ({ ...members, token_type: '"Bearer"' }) },
  },
  {
    id: "credential-null-expiry",
    section: "Resources, IssuedCredential",
    breaks: ["credential.shape", "scalar.timestamp.format"],
    sentence: "A credential that does not expire has an `expires_at` of null.",
    plant: {
      showCredential: (members) => ({ ...members, expires_at: members.expires_at ?? "null" }),
    },
  },
  {
    id: "provisioned-flat",
    section: "Resources, ProvisionInstanceResponse",
    breaks: ["instance.provision.shape"],
    sentence: "Provisioning answers the token beside the instance's own fields.",
    plant: answering(
      (about) => isSuccess(about) && about.operation === "provisionInstance",
      ({ body = "" }) => {
        const { instance, credential } = JSON.parse(body) as Record<string, object>;
        return { body: JSON.stringify({ ...instance, ...credential }) };
      },
    ),
  },
];

const INPUTS: readonly Fault[] = [
  {
    id: "provision-empty-refused",
    section: PROVISION_INPUT,
    breaks: ["instance.provision.empty-object"],
    sentence: "An empty object provisions nothing: a name is required.",
    plant: {
      readProvision: (body, rules) =>
        CORRECT.readProvision(
          body instanceof JsonObject && body.members.size === 0
            ? withMember(body, "instance_name", "")
            : body,
          rules,
        ),
    },
  },
  {
    id: "provision-any-body",
    section: PROVISION_INPUT,
    breaks: ["instance.provision.body-object"],
    sentence: "A body that is not an object provisions an instance.",
    plant: {
      readProvision: (body, rules) =>
        CORRECT.readProvision(body instanceof JsonObject ? body : EMPTY_OBJECT, rules),
    },
  },
  {
    id: "provision-name-ignored",
    section: PROVISION_INPUT,
    breaks: ["instance.provision.name"],
    sentence: "The provider ignores the proposed name.",
    plant: {
      readProvision: (body, rules) => ({
        ...CORRECT.readProvision(body, rules),
        instanceName: undefined,
      }),
    },
  },
  {
    id: "provision-name-empty",
    section: PROVISION_INPUT,
    breaks: ["instance.provision.name"],
    sentence: "An empty name is taken for none.",
    plant: {
      readProvision: (body, rules) =>
        CORRECT.readProvision(
          memberOf(body, "instance_name") === ""
            ? withMember(body, "instance_name", undefined)
            : body,
          rules,
        ),
    },
  },
  {
    id: "provision-delivery-null",
    section: PROVISION_INPUT,
    breaks: ["instance.provision.delivery-null"],
    sentence: "A provisioning with a null delivery makes an instance without a receiver.",
    plant: {
      readProvision: (body, rules) =>
        CORRECT.readProvision(
          memberOf(body, "delivery") === null ? withMember(body, "delivery", undefined) : body,
          rules,
        ),
    },
  },
  {
    id: "provision-unknown-ignored",
    section: PROVISION_INPUT,
    breaks: ["instance.provision.additional-properties"],
    sentence: "Unknown fields of a provisioning are ignored.",
    plant: {
      readProvision: (body, rules) =>
        CORRECT.readProvision(onlyKnown(body, ["instance_name", "delivery"]), rules),
    },
  },
  {
    id: "update-name-null",
    section: UPDATE_INPUT,
    breaks: ["instance.update.name"],
    sentence: "An update with a name of null keeps the name.",
    plant: {
      readUpdate: (body, rules) =>
        memberOf(body, "instance_name") === null
          ? { canonical: "", instanceName: undefined, delivery: undefined }
          : CORRECT.readUpdate(body, rules),
    },
  },
  {
    id: "update-name-empty",
    section: UPDATE_INPUT,
    breaks: ["instance.update.name"],
    sentence: "An update with an empty name keeps the name.",
    plant: {
      readUpdate: (body, rules) =>
        memberOf(body, "instance_name") === ""
          ? { canonical: "", instanceName: undefined, delivery: undefined }
          : CORRECT.readUpdate(body, rules),
    },
  },
  {
    id: "update-unknown-ignored",
    section: UPDATE_INPUT,
    breaks: ["instance.update.additional-properties"],
    sentence: "Unknown fields of an update are ignored.",
    plant: {
      readUpdate: (body, rules) =>
        CORRECT.readUpdate(onlyKnown(body, ["instance_name", "delivery"]), rules),
    },
  },
  {
    id: "update-empty",
    section: UPDATE_INPUT,
    breaks: ["instance.update.not-empty"],
    sentence: "An update of nothing is accepted.",
    plant: {
      readUpdate: (body, rules) =>
        body instanceof JsonObject && body.members.size === 0
          ? { canonical: "", instanceName: undefined, delivery: undefined }
          : CORRECT.readUpdate(body, rules),
    },
  },
];

function deletingWithout(...left: readonly DeletionStep[]): Fault["plant"] {
  return { deletion: CORRECT.deletion.difference(new Set(left)) };
}

const DELETIONS: readonly Fault[] = [
  {
    id: "read-deleted",
    section: "Endpoints, GET /v1/instances/{id}",
    breaks: ["instance.read.deleted"],
    sentence: "A deleted instance can be read.",
    plant: deletingWithout("forget"),
  },
  {
    id: "read-unknown-is-403",
    section: "Endpoints, GET /v1/instances/{id}",
    breaks: ["instance.read.unknown"],
    sentence: "Reading an unknown instance returns 403.",
    plant: answering(
      ({ operation, problem }) => operation === "getInstance" && problem?.status === 404,
      () => ({ status: 403 }),
    ),
  },
  {
    id: "read-instance-is-201",
    section: "Endpoints, GET /v1/instances/{id}",
    breaks: ["instance.read", "exchange.statuses"],
    sentence: "Reading an instance answers another name.",
    plant: answering(
      (about) => isSuccess(about) && about.operation === "getInstance",
      ({ body = "" }) => ({ body: objectText({ ...textsOf(body), name: '"another"' }) }),
    ),
  },
  {
    id: "delete-is-200",
    section: DELETE,
    breaks: ["instance.delete", "exchange.statuses"],
    sentence: "A deletion is a 200 with a body.",
    plant: answering(
      (about) => isSuccess(about) && about.operation === "deleteInstance",
      ({ headers }) => ({
        status: 200,
        headers: { ...headers, "content-type": "application/json" },
        body: "{}",
      }),
    ),
  },
  {
    id: "delete-needs-key",
    section: DELETE,
    breaks: ["instance.delete"],
    sentence: "A deletion without `Idempotency-Key` is refused.",
    plant: {
      key: (operation, headers) =>
        CORRECT.key(operation === "deleteInstance" ? "updateInstance" : operation, headers),
    },
  },
  {
    id: "delete-repeated-is-404",
    section: DELETE,
    breaks: ["instance.delete.repeat"],
    sentence: "Deleting again is a 404.",
    plant: { deleteRepeated: () => 404 },
  },
  {
    id: "delete-unknown-is-204",
    section: DELETE,
    breaks: ["instance.delete.unknown"],
    sentence: "Deleting an unknown instance returns 204.",
    plant: { deleteUnknown: () => 204 },
  },
  {
    id: "delete-leaves-credentials",
    section: DELETE,
    breaks: ["instance.delete.credentials-revoked", "auth.revoked", "instance.delete.serialised"],
    sentence: "A deletion leaves the credential valid.",
    plant: deletingWithout("revoke"),
  },
  {
    id: "delete-leaves-pending",
    section: "States, Approval request",
    breaks: ["instance.delete.pending-cancelled"],
    sentence: "A deletion leaves requests pending, and polls held on them.",
    plant: deletingWithout("cancel"),
  },
  {
    id: "delete-leaves-polls",
    section: "States, Approval request",
    breaks: ["instance.delete.pending-cancelled"],
    sentence: "A deletion cancels requests without completing held polls.",
    plant: { wakes: (cause) => cause !== "deletion" },
  },
  {
    id: "delete-leaves-delivery",
    section: DELETE,
    breaks: ["delivery.delete.ends", "event.retry.ended"],
    sentence: "A deletion does not end the attempts of notifications.",
    plant: deletingWithout("end-delivery"),
    seenBy: ["retry.deleted"],
  },
  {
    id: "delete-notifies",
    section: DELETE,
    breaks: ["delivery.delete.ends", "instance.delete.serialised"],
    sentence: "A deletion notifies of what it cancels, and then ends delivery.",
    plant: {
      deletion: new Set<DeletionStep>(["forget", "revoke", "cancel", "notify"]),
    },
    seenBy: ["notify.deletion"],
  },
];

function textsOf(body: string): Record<string, string> {
  const members = Object.entries(JSON.parse(body) as Record<string, unknown>);
  return Object.fromEntries(members.map(([name, value]) => [name, JSON.stringify(value)]));
}

export const INSTANCE_FAULTS: readonly Fault[] = [...SHAPES, ...INPUTS, ...DELETIONS];
