/**
 * The reviewer API: its table of operations with a handler for each. Rejects credentials of
 * agents.
 */

import { REVIEW_OPERATIONS, type ReviewOperations } from "@countersign/review-api";
import type { FastifyInstance } from "fastify";
import type { Context } from "../context.ts";
import type { Gate } from "../http/authenticate.ts";
import { addOperationRoutes, type Handlers } from "../http/operation-routes.ts";
import type { Report } from "../report.ts";
import { SignInLimits } from "./access/sign-in-limits.ts";
import { auditHandlers } from "./audit/audit-handlers.ts";
import { channelHandlers } from "./channels/channel-handlers.ts";
import { chatHandlers } from "./chat/chat-handlers.ts";
import { deliveryHandlers } from "./deliveries/delivery-handlers.ts";
import { freezeHandlers } from "./freezes/freeze-handlers.ts";
import { grantHandlers } from "./grants/grant-handlers.ts";
import { historyHandlers } from "./history/history-handlers.ts";
import { createHistoryQueue } from "./history/history-queue.ts";
import { statisticsHandlers } from "./history/statistics-handlers.ts";
import { instanceHandlers } from "./instances/instance-handlers.ts";
import { eventHandlers } from "./live/event-handlers.ts";
import { oncallHandlers } from "./oncall/oncall-handlers.ts";
import { absenceHandlers } from "./people/absence-handlers.ts";
import { accountHandlers } from "./people/account-handlers.ts";
import { peopleHandlers } from "./people/people-handlers.ts";
import { policyHandlers } from "./policy/policy-handlers.ts";
import { pushHandlers } from "./push/push-handlers.ts";
import { CallFactsCache } from "./requests/call-facts.ts";
import { commentHandlers } from "./requests/comment-handlers.ts";
import { requestHandlers } from "./requests/request-handlers.ts";
import { searchHandlers } from "./search/search-handlers.ts";
import { invitationHandlers } from "./sign-in/invitation-handlers.ts";
import { passkeyHandlers } from "./sign-in/passkey-handlers.ts";
import { sessionHandlers } from "./sign-in/session-handlers.ts";
import { tokenHandlers } from "./tokens/token-handlers.ts";

/** @param publicUrl base URL of this server; known once it listens */
export function addReviewRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  publicUrl: () => string,
  report: Report,
): void {
  const onClose = (stop: () => void) => {
    app.addHook("preClose", async () => stop());
  };
  const limits = new SignInLimits(context.clock);
  const historyQueue = createHistoryQueue();
  const facts = new CallFactsCache();
  const handlers: Handlers<ReviewOperations> = {
    ...absenceHandlers(context),
    ...accountHandlers(context, limits),
    ...auditHandlers(context, onClose),
    ...channelHandlers(context),
    ...commentHandlers(context),
    ...deliveryHandlers(context),
    ...eventHandlers(context, gate, report, onClose),
    ...freezeHandlers(context),
    ...grantHandlers(context, onClose),
    ...historyHandlers(context, onClose, historyQueue, facts),
    ...instanceHandlers(context),
    ...invitationHandlers(context, publicUrl),
    ...passkeyHandlers(context, publicUrl, limits),
    ...peopleHandlers(context),
    ...policyHandlers(context, onClose),
    ...chatHandlers(context),
    ...oncallHandlers(context),
    ...pushHandlers(context),
    ...requestHandlers(context, publicUrl),
    ...searchHandlers(context, historyQueue, facts),
    ...sessionHandlers(context, publicUrl, limits),
    ...statisticsHandlers(context, historyQueue),
    ...tokenHandlers(context),
  };
  addOperationRoutes(app, gate, REVIEW_OPERATIONS, handlers, context.settings.bodyBytesMax);
}
