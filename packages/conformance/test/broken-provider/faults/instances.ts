/**
 * Faults of provisioning, reading, updating and deleting instances.
 *
 * Called by: all.ts.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { JsonObject } from "@countersign/protocol";
import type { DeletionStep } from "../conduct-requests.ts";
import { objectText } from "../wire.ts";
import { instanceText } from "../wire.ts";
import {
  answering,
  CORRECT,
  EMPTY_OBJECT,
  type Fault,
  hasCode,
  isSuccess,
  memberOf,
  onlyKnown,
  withMember,
  withoutNulls,
} from "./fault.ts";

const INSTANCE = "Resources, Instance";
const PROVISION = "Endpoints, POST /v1/instances";
const UPDATE = "Endpoints, PATCH /v1/instances/{id}";
const DELETE = "Endpoints, DELETE /v1/instances/{id}";
const PROVISION_INPUT = "Resources, ProvisionInstanceRequest";
const UPDATE_INPUT = "Resources, UpdateInstanceRequest";

const RACE_MS = 15;

const SHAPES: readonly Fault[] = [
  {
    id: "instance-more",
    section: INSTANCE,
    breaks: ["resources.instance.shape"],
    sentence: "An instance shows the project that it belongs to.",
    plant: {
      showInstance: (members, { project }) => ({ ...members, project: JSON.stringify(project) }),
    },
  },
  {
    id: "instance-delivery-null",
    section: INSTANCE,
    breaks: ["resources.instance.shape", "resources.instance.delivery"],
    sentence: "An instance without a receiver has a delivery of null.",
    plant: {
      showInstance: (members) => ({ ...members, delivery: members.delivery ?? "null" }),
    },
  },
  {
    id: "instance-delivery-missing",
    section: INSTANCE,
    breaks: ["resources.instance.delivery", "endpoints.update.delivery.replaced"],
    sentence: "An instance never shows its delivery.",
    plant: { showInstance: (members) => ({ ...members, delivery: undefined }) },
  },
  {
    id: "instance-shows-token",
    section: INSTANCE,
    breaks: ["resources.instance.no-secrets", "resources.instance.shape"],
    sentence: "The name of an instance holds its credential.",
    plant: {
      showInstance: (members, { token }) => ({ ...members, name: JSON.stringify(token) }),
    },
  },
  {
    id: "name-empty",
    section: INSTANCE,
    breaks: ["resources.instance.name.assigned", "resources.instance.shape"],
    sentence: "An instance that was provisioned without a name has an empty one.",
    plant: { assignName: () => "" },
  },
  {
    id: "credential-more",
    section: "Resources, IssuedCredential",
    breaks: ["resources.credential.shape"],
    sentence: "A credential has a type.",
    plant: { showCredential: (members) => ({ ...members, token_type: '"Bearer"' }) },
  },
  {
    id: "credential-null-expiry",
    section: "Resources, IssuedCredential",
    breaks: ["resources.credential.shape", "resources.timestamp"],
    sentence: "A credential that does not expire has an `expires_at` of null.",
    plant: {
      showCredential: (members) => ({ ...members, expires_at: members.expires_at ?? "null" }),
    },
  },
  {
    id: "provisioned-flat",
    section: "Resources, ProvisionInstanceResponse",
    breaks: ["resources.provision-response.shape"],
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
    breaks: ["resources.provision.empty-object"],
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
    breaks: ["resources.provision.body"],
    sentence: "A body that is no object provisions an instance.",
    plant: {
      readProvision: (body, rules) =>
        CORRECT.readProvision(body instanceof JsonObject ? body : EMPTY_OBJECT, rules),
    },
  },
  {
    id: "provision-name-ignored",
    section: PROVISION_INPUT,
    breaks: ["resources.provision.name"],
    sentence: "The name that was asked for is not given.",
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
    breaks: ["resources.provision.name"],
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
    id: "provision-unknown-ignored",
    section: PROVISION_INPUT,
    breaks: ["resources.provision.additional"],
    sentence: "Unknown fields of a provisioning are ignored.",
    plant: {
      readProvision: (body, rules) =>
        CORRECT.readProvision(onlyKnown(body, ["instance_name", "delivery"]), rules),
    },
  },
  {
    id: "update-name-null",
    section: UPDATE_INPUT,
    breaks: ["resources.update.name"],
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
    breaks: ["resources.update.name"],
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
    breaks: ["resources.update.additional"],
    sentence: "Unknown fields of an update are ignored.",
    plant: {
      readUpdate: (body, rules) =>
        CORRECT.readUpdate(onlyKnown(body, ["instance_name", "delivery"]), rules),
    },
  },
  {
    id: "update-empty",
    section: UPDATE_INPUT,
    breaks: ["resources.update.not-empty"],
    sentence: "An update of nothing is accepted.",
    plant: {
      readUpdate: (body, rules) =>
        body instanceof JsonObject && body.members.size === 0
          ? { canonical: "", instanceName: undefined, delivery: undefined }
          : CORRECT.readUpdate(body, rules),
    },
  },
];

const PROVISIONINGS: readonly Fault[] = [
  {
    id: "provision-is-200",
    section: PROVISION,
    breaks: ["endpoints.provision.created"],
    sentence: "A new instance is a 200.",
    plant: answering(
      (about) => isSuccess(about) && about.operation === "provisionInstance",
      () => ({ status: 200 }),
    ),
  },
  {
    id: "provision-key-optional",
    section: PROVISION,
    breaks: ["endpoints.provision.key-required"],
    sentence: "A provisioning without a key is accepted.",
    plant: {
      key: (operation, headers) =>
        operation === "provisionInstance" && headers["idempotency-key"] === undefined
          ? randomUUID()
          : CORRECT.key(operation, headers),
    },
  },
  {
    id: "provision-key-global",
    section: PROVISION,
    breaks: ["endpoints.provision.key-scope.provisioner"],
    sentence: "A key is one for all provisioners.",
    plant: { provisionScope: (_, key) => key },
  },
  {
    id: "key-of-all-operations",
    section: PROVISION,
    breaks: ["endpoints.provision.key-scope.operation"],
    sentence: "A key that provisioned is a conflict in an update.",
    plant: {
      pause: (operation) => {
        throw new Error(`the ledger of ${operation} is not shared`);
      },
    },
  },
  {
    id: "provision-replay-new",
    section: PROVISION,
    breaks: ["endpoints.provision.replay", "endpoints.provision.lost-response"],
    sentence: "Each provisioning makes an instance, whatever its key.",
    plant: { provisionScope: () => randomUUID() },
  },
  {
    id: "provision-replay-new-token",
    section: PROVISION,
    breaks: ["endpoints.provision.replay"],
    sentence: "A replay answers another token.",
    plant: {
      replayText: (kept) => kept.replace(/"token":"[^"]*/, (token) => `${token}-renewed`),
    },
  },
  {
    id: "provision-replay-without-token",
    section: PROVISION,
    breaks: ["resources.provision-response.shape", "endpoints.provision.replay"],
    sentence: "A replay answers the instance without its credential, which was stored as a hash.",
    plant: { replayText: (kept) => kept.replace(/,"credential":.*(?=\}$)/s, "") },
  },
  {
    id: "provision-replay-is-201",
    section: PROVISION,
    breaks: ["endpoints.provision.replay"],
    sentence: "A replay is a 201.",
    plant: answering(
      ({ operation, isReplay }) => isReplay && operation === "provisionInstance",
      () => ({ status: 201 }),
    ),
  },
  {
    id: "provision-conflict-ignored",
    section: PROVISION,
    breaks: ["endpoints.provision.conflict"],
    sentence: "Other input under a used key answers the first instance.",
    plant: {
      isSameInput: (operation, before, now) =>
        operation === "provisionInstance" || CORRECT.isSameInput(operation, before, now),
    },
  },
  {
    id: "provision-replay-deleted-shown",
    section: PROVISION,
    breaks: ["endpoints.provision.replay-deleted"],
    sentence: "A replay answers a deleted instance as if it were there.",
    plant: { replayDeleted: () => "show" },
  },
  {
    id: "provision-replay-restores",
    section: PROVISION,
    breaks: ["endpoints.provision.replay-deleted"],
    sentence: "A replay brings a deleted instance back.",
    plant: { replayDeleted: () => "restore" },
  },
  {
    id: "provision-replay-deleted-code",
    section: "Errors, Known codes",
    breaks: ["endpoints.provision.replay-deleted"],
    sentence: "The replay of a deleted instance is an `idempotency_conflict`.",
    plant: answering(hasCode("instance_deleted"), ({ body }) => ({
      body: body?.replace("instance_deleted", "idempotency_conflict"),
    })),
  },
  {
    id: "provision-races",
    section: PROVISION,
    breaks: ["endpoints.provision.concurrent"],
    sentence: "Provisionings with one key at the same time make an instance each.",
    plant: {
      pause: (operation) => (operation === "provisionInstance" ? sleep(RACE_MS) : undefined),
    },
  },
];

const UPDATES: readonly Fault[] = [
  {
    id: "update-not-applied",
    section: UPDATE,
    breaks: ["endpoints.update"],
    sentence: "An update answers 200 and keeps the old name.",
    plant: {
      readUpdate: (body, rules) => ({
        ...CORRECT.readUpdate(body, rules),
        instanceName: undefined,
      }),
    },
  },
  {
    id: "update-resets-omitted",
    section: UPDATE,
    breaks: ["endpoints.update.omitted"],
    sentence: "An update without a delivery removes it.",
    plant: {
      readUpdate: (body, rules) => {
        const input = CORRECT.readUpdate(body, rules);
        return { ...input, delivery: input.delivery ?? null };
      },
    },
  },
  {
    id: "update-key-optional",
    section: UPDATE,
    breaks: ["endpoints.update.key-required"],
    sentence: "An update without a key is accepted.",
    plant: {
      key: (operation, headers) =>
        operation === "updateInstance" && headers["idempotency-key"] === undefined
          ? randomUUID()
          : CORRECT.key(operation, headers),
    },
  },
  {
    id: "update-key-of-all-instances",
    section: UPDATE,
    breaks: ["endpoints.update.key-scope"],
    sentence: "A key of updates is one for all instances.",
    plant: { updateScope: (caller, _, key) => CORRECT.provisionScope(caller, key) },
  },
  {
    id: "update-replay-applies",
    section: UPDATE,
    breaks: ["endpoints.update.replay", "endpoints.update.replay-unverified"],
    sentence: "A replayed update is applied again, over a later one.",
    plant: { updateScope: () => randomUUID() },
  },
  {
    id: "update-replay-current",
    section: UPDATE,
    breaks: ["endpoints.update.replay"],
    sentence: "A replayed update answers the instance as it is now.",
    plant: {
      replayText: (kept, instance, ledger) =>
        kept.startsWith('{"instance":') ? kept : instanceText(ledger, instance),
    },
  },
  {
    id: "update-conflict-ignored",
    section: UPDATE,
    breaks: ["endpoints.update.conflict"],
    sentence: "Other input under a used key answers the first update.",
    plant: {
      isSameInput: (operation, before, now) =>
        operation === "updateInstance" || CORRECT.isSameInput(operation, before, now),
    },
  },
  {
    id: "update-restores",
    section: UPDATE,
    breaks: [
      "endpoints.update.unknown",
      "endpoints.update.replay-deleted",
      "states.instance.deletion.wins",
    ],
    sentence: "An update brings a deleted instance back.",
    plant: { updateDeleted: () => "restore" },
  },
  {
    id: "update-of-deleted",
    section: UPDATE,
    breaks: ["endpoints.update.replay-deleted", "endpoints.update.unknown"],
    sentence: "An update of a deleted instance is a 200.",
    plant: { updateDeleted: () => "show" },
  },
  {
    id: "update-refused-renames",
    section: "States, Instance",
    breaks: ["states.instance.update.refused", "endpoints.update.verification-failed"],
    sentence: "The new name is there although the update was refused.",
    plant: { renamesFirst: () => true },
  },
  {
    id: "update-races",
    section: UPDATE,
    breaks: ["endpoints.update.concurrent", "endpoints.update.coalesced"],
    sentence: "Updates with one key at the same time are all applied.",
    plant: { pause: (operation) => (operation === "updateInstance" ? sleep(RACE_MS) : undefined) },
  },
];

function deletingWithout(...left: readonly DeletionStep[]): Fault["plant"] {
  return { deletion: CORRECT.deletion.difference(new Set(left)) };
}

const DELETIONS: readonly Fault[] = [
  {
    id: "read-deleted",
    section: "Endpoints, GET /v1/instances/{id}",
    breaks: ["endpoints.read-instance.deleted"],
    sentence: "A deleted instance can be read.",
    plant: deletingWithout("forget"),
  },
  {
    id: "read-unknown-is-403",
    section: "Endpoints, GET /v1/instances/{id}",
    breaks: ["endpoints.read-instance.unknown"],
    sentence: "An instance that never was is a 403.",
    plant: answering(
      ({ operation, problem }) => operation === "getInstance" && problem?.status === 404,
      () => ({ status: 403 }),
    ),
  },
  {
    id: "read-instance-is-201",
    section: "Endpoints, GET /v1/instances/{id}",
    breaks: ["endpoints.read-instance", "endpoints.statuses"],
    sentence: "Reading an instance answers another name.",
    plant: answering(
      (about) => isSuccess(about) && about.operation === "getInstance",
      ({ body = "" }) => ({ body: objectText({ ...textsOf(body), name: '"another"' }) }),
    ),
  },
  {
    id: "delete-is-200",
    section: DELETE,
    breaks: ["endpoints.delete", "endpoints.statuses"],
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
    breaks: ["endpoints.delete"],
    sentence: "A deletion without `Idempotency-Key` is refused.",
    plant: {
      key: (operation, headers) =>
        CORRECT.key(operation === "deleteInstance" ? "updateInstance" : operation, headers),
    },
  },
  {
    id: "delete-repeated-is-404",
    section: DELETE,
    breaks: ["endpoints.delete.repeat"],
    sentence: "Deleting again is a 404.",
    plant: { deleteRepeated: () => 404 },
  },
  {
    id: "delete-unknown-is-204",
    section: DELETE,
    breaks: ["endpoints.delete.unknown"],
    sentence: "Deleting an instance that never was is a 204.",
    plant: { deleteUnknown: () => 204 },
  },
  {
    id: "delete-leaves-credentials",
    section: DELETE,
    breaks: [
      "endpoints.delete.credentials",
      "authentication.revoked",
      "states.instance.deletion.serialised",
      "states.instance.deletion.beside-decisions",
    ],
    sentence: "A deletion leaves the credential valid.",
    plant: deletingWithout("revoke"),
  },
  {
    id: "delete-leaves-pending",
    section: "States, Approval request",
    breaks: ["states.instance.deletion.pending"],
    sentence: "A deletion leaves requests pending, and polls held on them.",
    plant: deletingWithout("cancel"),
  },
  {
    id: "delete-leaves-polls",
    section: "States, Approval request",
    breaks: ["states.instance.deletion.pending"],
    sentence: "A deletion cancels requests and wakes nobody.",
    plant: { wakes: (cause) => cause !== "deletion" },
  },
  {
    id: "delete-leaves-delivery",
    section: DELETE,
    breaks: ["endpoints.delete.delivery", "events.delivery.removal"],
    sentence: "A deletion does not end the attempts of notifications.",
    plant: deletingWithout("end-delivery"),
  },
  {
    id: "delete-notifies",
    section: DELETE,
    breaks: ["endpoints.delete.delivery", "states.instance.deletion.beside-decisions"],
    sentence: "A deletion notifies of what it cancels, and then ends delivery.",
    plant: {
      deletion: new Set([...CORRECT.deletion, "notify"]).difference(new Set(["end-delivery"])),
    },
  },
];

function textsOf(body: string): Record<string, string> {
  const members = Object.entries(JSON.parse(body) as Record<string, unknown>);
  return Object.fromEntries(members.map(([name, value]) => [name, JSON.stringify(value)]));
}

export const INSTANCE_FAULTS: readonly Fault[] = [
  ...SHAPES,
  ...INPUTS,
  ...PROVISIONINGS,
  ...UPDATES,
  ...DELETIONS,
];
