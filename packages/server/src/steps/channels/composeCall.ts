/** Composes the message about a pending request. */

import type { StoredChannel } from "../../core/channel.ts";
import { CHAT_ARGUMENTS_BYTES_MAX, isChatKind } from "../../core/chat.ts";
import { sha256Hex } from "../../core/digest.ts";
import { excerptArguments } from "../../core/excerpt-arguments.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { CallButtons, CallMessage } from "../../notify/channel-message.ts";
import { readJudgement, requirementOf, scheduleEscalations } from "../../policy/judgement.ts";
import { placeRefusal } from "../../policy/place.ts";
import type { Requirement } from "../../policy/rule.ts";
import { readToolName } from "../../policy/tool-names.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";
import { readVotes } from "../../storage/sql/requests/votes.ts";
import type { Reader } from "../../storage/store.ts";

/** A pending request and all its announcements that are due. */
export interface WaitingCall {
  readonly requestId: string;
  readonly ids: readonly [string, ...string[]];
  readonly isReminder: boolean;
  readonly isEscalation: boolean;
  readonly since: number;
  readonly deadlineAt: number;
}

/** The request of a message, and the id of the message. */
export interface CallSubject
  extends Pick<WaitingCall, "requestId" | "isReminder" | "isEscalation"> {
  readonly messageId: string;
  /** Of the buttons of the message; undefined: none. */
  readonly nonce: string | undefined;
}

/** The current announcement of a call. Includes arguments only if the channel shows them. */
export async function composeCall(
  reader: Reader,
  channel: StoredChannel,
  { requestId, messageId, isReminder, isEscalation, nonce }: CallSubject,
  now: number,
): Promise<CallMessage> {
  const { projectId, includesArguments } = channel;
  const request = await readRequest(reader, { projectId, id: requestId });
  if (request === undefined) throw new Error("an announcement has no request");
  const { instanceId, createdAt, deadlineAt } = request;
  const instance = (await readInstances(reader, projectId, [instanceId])).get(instanceId);
  const judgement = readJudgement(request.policy);
  const requirement = requirementOf(judgement);
  const { quorum, from, confirm, noteRequired } = requirement;
  const steps = scheduleEscalations(judgement, request);
  const { tool, server } = readToolName(request);
  const votes = await readVotes(reader, projectId, [requestId]);
  return {
    kind: "call",
    id: messageId,
    now,
    requestId,
    isReminder,
    isEscalation,
    escalatedTo: steps.filter(({ doneAt }) => doneAt !== undefined).map(({ to }) => to),
    createdAt,
    deadlineAt,
    tool,
    server,
    instance: { id: instanceId, name: JSON.parse(instance?.name ?? '""') as string },
    note: judgement.note,
    because: judgement.because,
    approvals: {
      needed: quorum,
      given: votes.length,
      from,
      confirm: confirm.kind,
      isNoteRequired: noteRequired,
    },
    argumentsText: includesArguments ? request.arguments : undefined,
    buttons: nonce === undefined ? undefined : buttonsOf(channel, request, requirement, nonce),
  };
}

/** @returns undefined when people cannot decide in the channel */
export function buttonsOf(
  { kind, decides, includesArguments }: StoredChannel,
  { arguments: text }: Pick<StoredRequest, "arguments">,
  { confirm, channels }: Requirement,
  nonce: string,
): CallButtons | undefined {
  if (!decides || !isChatKind(kind)) return undefined;
  const isShown = includesArguments && excerptArguments(text, CHAT_ARGUMENTS_BYTES_MAX).isWhole;
  const isPermitted = placeRefusal(channels, kind) === undefined;
  const canApprove = isShown && isPermitted && confirm.kind === "click";
  return { nonce, argumentsSha256: sha256Hex(text), canApprove };
}
