/**
 * How the provider treats approval requests and keys, where a fault can be planted.
 */

import { equalJson, type JsonValue, type OperationName, WAIT_MS_MAX } from "@countersign/protocol";
import type {
  Caller,
  Cause,
  Members,
  Records,
  StoredDecision,
  StoredInstance,
  StoredRequest,
  Terminal,
} from "./ledger.ts";

export interface RequestConduct {
  /** Equal texts are one key. */
  submissionScope(caller: StoredInstance, key: string): string;
  isSameInput(operation: OperationName, before: JsonValue, now: JsonValue): boolean;
  /** Delay between finding a key and using it; undefined: both are one step. */
  pause(operation: OperationName): Promise<void> | undefined;
  /** @returns the owner of the request */
  owner(caller: StoredInstance, body: JsonValue, ledger: Records): StoredInstance;
  deadline(createdAt: number, timeoutMs: number): number;
  reachesRequest(caller: StoredInstance, request: StoredRequest, isCancel: boolean): boolean;
  showRequest(members: Members, request: StoredRequest): Members;
  showDecision(members: Members, decision: StoredDecision, request: StoredRequest): Members;
  /** Before a request is shown, with what is still to be done to it. */
  settle(request: StoredRequest, ledger: Records, overdue: () => void): void;
  /** Whether a verdict that comes now counts. */
  mayDecide(request: StoredRequest, now: number): boolean;
  /** The decision as it is recorded. */
  record(decision: StoredDecision, request: StoredRequest, cause: Cause): StoredDecision;
  /** Whether the deadline ends a request by itself. */
  expiresByItself(request: StoredRequest): boolean;
  /** The effect of cancelling a decided request. */
  cancelDecided(status: Terminal): "conflict" | "show" | "cancel";
  /** Milliseconds for which a read may be held. */
  hold(waitMs: number, request: StoredRequest): number;
  wakes(cause: Cause): boolean;
  /** When a submission comes again. */
  replayed(request: StoredRequest, ledger: Records): void;
}

export const CORRECT_REQUESTS: RequestConduct = {
  submissionScope: ({ id }, key) => `${id} ${key}`,
  isSameInput: (_, before, now) => equalJson(before, now),
  pause: () => undefined,
  owner: (caller) => caller,
  deadline: (createdAt, timeoutMs) => createdAt + Math.min(timeoutMs, LONGEST_WINDOW_MS),
  reachesRequest: (caller, request) => request.instance === caller,
  showRequest: (members) => members,
  showDecision: (members) => members,
  settle: (request, _, overdue) => {
    if (request.decision === undefined && Date.now() >= request.deadlineAt) overdue();
  },
  mayDecide: ({ decision, deadlineAt }, now) => decision === undefined && now < deadlineAt,
  record: (decision) => decision,
  expiresByItself: () => true,
  cancelDecided: (status) => (status === "cancelled" ? "show" : "conflict"),
  hold: (waitMs, { decision }) => (decision === undefined ? Math.min(waitMs, WAIT_MS_MAX) : 0),
  wakes: () => true,
  replayed: () => undefined,
};

/** Longer windows are shortened to this limit. */
const LONGEST_WINDOW_MS = 168 * 3_600_000;

export interface InstanceConduct {
  provisionScope(caller: Caller, key: string): string;
  updateScope(caller: Caller, instance: StoredInstance, key: string): string;
  assignName(id: string): string;
  reachesInstance(caller: Caller, instance: StoredInstance): boolean;
  showInstance(members: Members, instance: StoredInstance): Members;
  showDelivery(members: Members, receiver: NonNullable<StoredInstance["receiver"]>): Members;
  showCredential(members: Members, instance: StoredInstance): Members;
  /** @returns the text that is answered to a replayed creation or update */
  replayText(kept: string, instance: StoredInstance, ledger: Records): string;
  /** Whether the new name is stored before the rest of the update is checked. */
  renamesFirst(): boolean;
  /** Whether an instance exists during the verification of its receiver. */
  commitsFirst(): boolean;
  /** Whether a failed attempt consumes its key. */
  keepsFailed(): boolean;
  /** The effect of replaying a creation after the instance was deleted. */
  replayDeleted(instance: StoredInstance): "conflict" | "show" | "restore";
  /** The result of an update if the instance was deleted during the update or before its replay. */
  updateDeleted(instance: StoredInstance): "refuse" | "show" | "restore";
  /** The steps of a deletion. */
  deletion: ReadonlySet<DeletionStep>;
  /** The status for deleting a deleted instance, and an unknown instance. */
  deleteRepeated(): 204 | 404;
  deleteUnknown(): 204 | 404;
}

export type DeletionStep = "forget" | "revoke" | "cancel" | "end-delivery" | "notify";

export const CORRECT_INSTANCES: InstanceConduct = {
  provisionScope: (caller, key) =>
    `${caller.kind === "provisioner" ? caller.provisioner.project : ""} ${key}`,
  updateScope: (caller, { id }, key) => `${CORRECT_INSTANCES.provisionScope(caller, key)} ${id}`,
  assignName: (id) => `instance-${id.slice(0, 8)}`,
  reachesInstance: (caller, instance) =>
    caller.kind === "provisioner" && caller.provisioner.project === instance.project,
  showInstance: (members) => members,
  showDelivery: (members) => members,
  showCredential: (members) => members,
  replayText: (kept) => kept,
  renamesFirst: () => false,
  commitsFirst: () => false,
  keepsFailed: () => false,
  replayDeleted: () => "conflict",
  updateDeleted: () => "refuse",
  deletion: new Set(["forget", "revoke", "cancel", "end-delivery"]),
  deleteRepeated: () => 204,
  deleteUnknown: () => 404,
};
