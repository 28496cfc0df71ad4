/** Checks that a deleted instance has no credential, decision or attempt. */

import type { Facts, Promised } from "../facts.ts";
import type { Change } from "../snapshot.ts";

export const DELETION: Promised = {
  id: "I7",
  says:
    "After the deletion of an instance there is no valid credential, no decision, no new attempt " +
    "and, once it is answered, no pending request.",

  onCommit(facts, { changes }) {
    for (const change of changes) {
      if (change.after === undefined) continue;
      if (change.table === "instance" && change.after.deleted_at !== null) {
        assertNothingLeft(facts, change.key);
      }
      assertNothingNew(facts, change);
    }
  },

  onAnswer(facts, { call, answer, startedAt }) {
    const { world, deletionsConfirmed, holders } = facts;
    if (call.kind === "delete" && answer.status === 204) assertNothingPending(facts, call.id);
    const instanceId = holders.get(call.token);
    const confirmedAt = deletionsConfirmed.get(instanceId ?? "");
    if (confirmedAt === undefined || confirmedAt >= startedAt) return;
    const isRefused = answer.status === 401 || answer.status === 503;
    world.assert(isRefused, "I7", () => `${instanceId} may ${call.kind}: ${answer.status}`);
  },

  onArrival({ world, snapshot, receiverRemoved, claimsSeen, claimedIn }, { id }) {
    const instanceId = String(snapshot.get("notification", id)?.instance_id);
    const removedIn = receiverRemoved.get(instanceId);
    if (removedIn === undefined || snapshot.get("receiver", instanceId) !== undefined) return;
    // A sender has read the database since it claimed, and was answered before the removal.
    const seenIn = claimsSeen.get(id) ?? -1;
    const isStarted = seenIn < removedIn && seenIn >= (claimedIn.get(id) ?? -1);
    world.assert(isStarted, "I7", () => `${id} was tried after the end of its receiver`);
  },
};

function assertNothingLeft({ world, snapshot }: Facts, instanceId: string): void {
  const valid = snapshot.all("credential").filter(({ holder_id: holder, revoked_at: revoked }) => {
    return holder === instanceId && revoked === null;
  });
  world.assert(valid.length === 0, "I7", () => `${instanceId} has a valid credential`);
  const receiver = snapshot.get("receiver", instanceId);
  world.assert(receiver === undefined, "I7", () => `${instanceId} has a receiver`);
}

/** A deletion cancels in several transactions, and is answered after the last one. */
function assertNothingPending({ world, snapshot }: Facts, instanceId: string): void {
  const pending = snapshot.all("request").filter(({ instance_id: owner, status }) => {
    return owner === instanceId && status === "pending";
  });
  world.assert(pending.length === 0, "I7", () => `${instanceId} has a pending request`);
}

function assertNothingNew({ world, snapshot }: Facts, { table, key, before, after }: Change): void {
  const instanceId = after?.instance_id ?? after?.holder_id;
  const instance = snapshot.get("instance", instanceId);
  if (instance === undefined || instance.deleted_at === null) return;
  const isRequest = table === "request" && before?.status !== after?.status;
  const isDecision = isRequest && after?.status !== "cancelled";
  const isClaim = table === "notification" && Number(after?.fence) > Number(before?.fence ?? 0);
  const isValid = table === "credential" && after?.revoked_at === null;
  const isNew = isDecision || isClaim || isValid || table === "receiver";
  world.assert(!isNew, "I7", () => `the ${table} ${key} came after its instance was deleted`);
}
