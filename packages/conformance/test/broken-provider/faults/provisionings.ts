/**
 * Faults of provisioning and updating, and of doing so again.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type OperationName, Problem } from "@countersign/protocol";
import { instanceText } from "../wire.ts";
import { answering, CORRECT, type Fault, hasCode, isSuccess } from "./fault.ts";

const PROVISION = "Endpoints, POST /v1/instances";
const UPDATE = "Endpoints, PATCH /v1/instances/{id}";

const RACE_MS = 1_000;

/** Keys that are worked for. */
const locked = new Set<string>();

/** In which operation a key was first seen. */
const operationOf = new Map<string, OperationName>();

const PROVISIONINGS: readonly Fault[] = [
  {
    id: "provision-is-200",
    section: PROVISION,
    breaks: ["instance.provision.created"],
    sentence: "A new instance is a 200.",
    plant: answering(
      (about) => isSuccess(about) && about.operation === "provisionInstance",
      () => ({ status: 200 }),
    ),
  },
  {
    id: "provision-key-optional",
    section: PROVISION,
    breaks: ["instance.provision.key-required"],
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
    breaks: ["instance.provision.key-scope"],
    sentence: "A key is one for all provisioners.",
    plant: { provisionScope: (_, key) => key },
  },
  {
    id: "key-of-all-operations",
    section: PROVISION,
    breaks: ["instance.provision.key-scope"],
    sentence: "A key that provisioned is a conflict in an update.",
    plant: {
      key: (operation, headers) => {
        const key = CORRECT.key(operation, headers);
        const scope = `${headers.authorization} ${key}`;
        const before = key === "" ? operation : (operationOf.get(scope) ?? operation);
        operationOf.set(scope, before);
        if (before !== operation) throw new Problem("idempotency_conflict");
        return key;
      },
    },
  },
  {
    id: "provision-replay-new",
    section: PROVISION,
    breaks: ["instance.provision.replay"],
    sentence: "Each provisioning creates an instance, even with a used key.",
    plant: { provisionScope: () => randomUUID() },
  },
  {
    id: "provision-replay-new-token",
    section: PROVISION,
    breaks: ["instance.provision.replay.not-renewed"],
    sentence: "A replay answers another token.",
    plant: {
      replayText: (kept) => kept.replace(/"token":"[^"]*/, '"token":"another-one-of-the-same'),
    },
  },
  {
    id: "provision-replay-without-token",
    section: PROVISION,
    breaks: ["instance.provision.shape", "instance.provision.replay"],
    sentence: "A replay answers the instance without its credential, which was stored as a hash.",
    plant: { replayText: (kept) => kept.replace(/,"credential":.*(?=\}$)/s, "") },
  },
  {
    id: "provision-replay-is-201",
    section: PROVISION,
    breaks: ["instance.provision.replay"],
    sentence: "A replay is a 201.",
    plant: answering(
      ({ operation, isReplay }) => isReplay && operation === "provisionInstance",
      () => ({ status: 201 }),
    ),
  },
  {
    id: "provision-conflict-ignored",
    section: PROVISION,
    breaks: ["instance.provision.conflict"],
    sentence: "Other input under a used key answers the first instance.",
    plant: {
      isSameInput: (operation, before, now) =>
        operation === "provisionInstance" || CORRECT.isSameInput(operation, before, now),
    },
  },
  {
    id: "provision-replay-deleted-shown",
    section: PROVISION,
    breaks: ["instance.provision.replay.deleted"],
    sentence: "A replay answers a deleted instance as if it were there.",
    plant: { replayDeleted: () => "show" },
  },
  {
    id: "provision-replay-restores",
    section: PROVISION,
    breaks: ["instance.provision.replay.deleted"],
    sentence: "A replay brings a deleted instance back.",
    plant: { replayDeleted: () => "restore" },
  },
  {
    id: "provision-replay-deleted-code",
    section: "Errors, Known codes",
    breaks: ["instance.provision.replay.deleted"],
    sentence: "The replay of a deleted instance is an `idempotency_conflict`.",
    plant: answering(hasCode("instance_deleted"), ({ body }) => ({
      body: body?.replace("instance_deleted", "idempotency_conflict"),
    })),
  },
  {
    id: "provision-races",
    section: PROVISION,
    breaks: ["instance.provision.concurrent"],
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
    breaks: ["instance.update.renames"],
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
    breaks: ["delivery.update.keeps"],
    sentence: "An update without a delivery removes it.",
    plant: {
      readUpdate: (body, rules) => {
        const input = CORRECT.readUpdate(body, rules);
        return { ...input, delivery: input.delivery ?? null };
      },
    },
  },
  {
    id: "update-renames-unasked",
    section: UPDATE,
    breaks: ["instance.update.omitted-unchanged"],
    sentence: "An update without a name gives the instance another one.",
    plant: {
      readUpdate: (body, rules) => {
        const input = CORRECT.readUpdate(body, rules);
        return { ...input, instanceName: input.instanceName ?? "unnamed" };
      },
    },
  },
  {
    id: "update-null-keeps",
    section: UPDATE,
    breaks: ["instance.update.delivery-null"],
    sentence: "A null delivery in an update keeps the receiver.",
    plant: {
      readUpdate: (body, rules) => {
        const input = CORRECT.readUpdate(body, rules);
        return { ...input, delivery: input.delivery ?? undefined };
      },
    },
  },
  {
    id: "update-key-optional",
    section: UPDATE,
    breaks: ["instance.update.key-required"],
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
    breaks: ["instance.update.key-scope"],
    sentence: "A key of updates is one for all instances.",
    plant: { updateScope: (caller, _, key) => CORRECT.provisionScope(caller, key) },
  },
  {
    id: "update-replay-applies",
    section: UPDATE,
    breaks: ["instance.update.replay", "delivery.update.replay-no-verification"],
    sentence: "A replayed update is applied again, over a later one.",
    plant: { updateScope: () => randomUUID() },
  },
  {
    id: "update-replay-current",
    section: UPDATE,
    breaks: ["instance.update.replay"],
    sentence: "A replayed update answers the instance as it is now.",
    plant: {
      replayText: (kept, instance, ledger) =>
        kept.startsWith('{"instance":')
          ? kept
          : instanceText({ ...ledger, conduct: CORRECT }, instance),
    },
  },
  {
    id: "update-conflict-ignored",
    section: UPDATE,
    breaks: ["instance.update.conflict"],
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
      "instance.update.unknown",
      "instance.update.replay.deleted",
      "delivery.update.deletion-wins",
    ],
    sentence: "An update brings a deleted instance back.",
    plant: { updateDeleted: () => "restore" },
  },
  {
    id: "update-of-deleted",
    section: UPDATE,
    breaks: ["instance.update.replay.deleted", "instance.update.unknown"],
    sentence: "An update of a deleted instance is a 200.",
    plant: { updateDeleted: () => "show" },
  },
  {
    id: "update-refused-renames",
    section: "States, Instance",
    breaks: ["instance.update.refused-changes-nothing", "delivery.update.failed"],
    sentence: "A rejected update changes the name.",
    plant: { renamesFirst: () => true },
  },
  {
    id: "update-key-locked",
    section: UPDATE,
    breaks: ["instance.update.concurrent"],
    sentence: "A concurrent update with the same key returns 409.",
    plant: {
      key: (operation, headers) => {
        const key = CORRECT.key(operation, headers);
        if (operation === "updateInstance" && locked.has(key)) {
          throw new Problem("idempotency_conflict");
        }
        locked.add(key);
        setTimeout(() => locked.delete(key), RACE_MS);
        return key;
      },
    },
    seenBy: ["instance.update.concurrent"],
  },
  {
    id: "update-races",
    section: UPDATE,
    breaks: ["instance.update.concurrent", "delivery.update.coalesced"],
    sentence: "Updates with one key at the same time are all applied.",
    plant: { pause: (operation) => (operation === "updateInstance" ? sleep(RACE_MS) : undefined) },
  },
];

export const PROVISIONING_FAULTS: readonly Fault[] = [...PROVISIONINGS, ...UPDATES];
