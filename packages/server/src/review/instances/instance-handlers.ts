/** Handlers of the instances. */

import { formatTimestamp } from "@countersign/protocol";
import {
  type Instance,
  type instances,
  JsonText,
  type ProposedChange,
  type Receiver,
  type Writable,
} from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { createInstance } from "../../operations/instances/createInstance.ts";
import { deleteInstance } from "../../operations/instances/deleteInstance.ts";
import { groupInstance } from "../../operations/instances/groupInstance.ts";
import {
  installVerifiedReceiver,
  removeReceiverOf,
  testReceiver,
} from "../../operations/instances/installVerifiedReceiver.ts";
import {
  listInstances,
  type ReceiverHealth,
  type ReviewedAssignment,
  type ReviewedInstance,
  showInstance,
} from "../../operations/instances/listInstances.ts";
import { renameInstance } from "../../operations/instances/renameInstance.ts";
import { rotateCredential } from "../../operations/instances/rotateCredential.ts";
import { toWireAttempt } from "../deliveries/delivery-handlers.ts";

export function instanceHandlers(context: Context): Handlers<typeof instances> {
  return {
    async listInstances({ caller, query }) {
      const page = await listInstances(context, caller, query);
      return { instances: page.instances.map(toWire), next: page.next ?? null };
    },

    async showInstance({ caller, path }) {
      return toWire(await showInstance(context, caller, path.id));
    },

    async createInstance({ caller, body: { name, owner = null, groups = [] }, request }) {
      const { id, token } = await createInstance(context, caller, { name, owner, groups });
      request.subjectId = id;
      return { ...toWire(await showInstance(context, caller, id)), credential: token };
    },

    async removeInstance({ caller, path }) {
      await deleteInstance(context, caller, path.id);
      return { deleted: path.id };
    },

    async groupInstance({ caller, path, body }) {
      const { isProposed } = await groupInstance(context, caller, path.id, body);
      const instance = toWire(await showInstance(context, caller, path.id));
      return { status: isProposed ? 202 : 200, body: instance };
    },

    async rotateCredential({ caller, path, body: { overlap = 0 } }) {
      const { token, earlierUntil } = await rotateCredential(context, caller, path.id, overlap);
      return { credential: token, earlier_until: formatTimestamp(earlierUntil) };
    },

    async renameInstance({ caller, path, body }) {
      await renameInstance(context, caller, path.id, body.name);
      return toWire(await showInstance(context, caller, path.id));
    },

    async setReceiver({ caller, path, body }) {
      await installVerifiedReceiver(context, caller, path.id, {
        url: body.url,
        registrationId: body.registration_id,
        signingSecret: body.signing_secret,
      });
      return toWire(await showInstance(context, caller, path.id));
    },

    async removeReceiver({ caller, path }) {
      await removeReceiverOf(context, caller, path.id);
      return toWire(await showInstance(context, caller, path.id));
    },

    async testReceiver({ caller, path }) {
      await testReceiver(context, caller, path.id);
      return undefined;
    },
  };
}

function toWire({
  instance,
  owner,
  proposal,
  workload,
  activity,
}: ReviewedInstance): Writable<Instance> {
  const { pending, lastRequestAt, receiver } = activity;
  return {
    id: instance.id,
    name: new JsonText(instance.name),
    groups: instance.groups,
    owner,
    created_at: formatTimestamp(instance.createdAt),
    pending,
    last_request_at: lastRequestAt === undefined ? null : formatTimestamp(lastRequestAt),
    receiver: receiver === null ? null : toWireReceiver(receiver),
    workload: workload === null ? undefined : toWireWorkload(workload),
    proposed_change: proposal === null ? undefined : toWireProposal(proposal),
  };
}

function toWireWorkload({
  rule,
  issuer,
  claims,
}: NonNullable<ReviewedInstance["workload"]>): Writable<NonNullable<Instance["workload"]>> {
  const pairs = Object.entries(claims).map(([claim, value]) => `${claim}=${value}`);
  return { rule, issuer, claims: pairs };
}

function toWireProposal({
  groups,
  owner,
  proposer,
  proposedAt,
}: ReviewedAssignment): Writable<ProposedChange> {
  return { groups, owner, proposer, proposed_at: formatTimestamp(proposedAt) };
}

function toWireReceiver({ origin, verifiedAt, waiting, worst }: ReceiverHealth): Receiver {
  const last = worst?.last ?? undefined;
  return {
    origin,
    verified_at: formatTimestamp(verifiedAt),
    waiting,
    attempts: worst?.attempts,
    next_attempt_at: worst && formatTimestamp(worst.nextAt),
    last_attempt: last && toWireAttempt(last),
  };
}
