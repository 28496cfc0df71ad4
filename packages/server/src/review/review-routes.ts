/**
 * The reviewer surface: everything that people and their tools do, each in a file of its own. An
 * agent's credential never reaches any of it.
 */

import {
  account,
  audit,
  channels,
  deliveries,
  events,
  freezes,
  grants,
  history,
  instances,
  invitations,
  passkeys,
  people,
  policy,
  push,
  requests,
  session,
  tokens,
} from "@countersign/review-api";
import type { FastifyInstance } from "fastify";
import type { Context } from "../context.ts";
import type { Gate } from "../http/authenticate.ts";
import {
  addOperationRoutes,
  type Handlers,
  type OperationTable,
} from "../http/operation-routes.ts";
import type { Report } from "../report.ts";
import { SignInLimits } from "./access/sign-in-limits.ts";
import { auditHandlers } from "./audit/audit-handlers.ts";
import { channelHandlers } from "./channels/channel-handlers.ts";
import { deliveryHandlers } from "./deliveries/delivery-handlers.ts";
import { freezeHandlers } from "./freezes/freeze-handlers.ts";
import { grantHandlers } from "./grants/grant-handlers.ts";
import { historyHandlers } from "./history/history-handlers.ts";
import { instanceHandlers } from "./instances/instance-handlers.ts";
import { eventHandlers } from "./live/event-handlers.ts";
import { addPageRoutes } from "./pages/page-routes.ts";
import { accountHandlers } from "./people/account-handlers.ts";
import { peopleHandlers } from "./people/people-handlers.ts";
import { policyHandlers } from "./policy/policy-handlers.ts";
import { pushHandlers } from "./push/push-handlers.ts";
import { requestHandlers } from "./requests/request-handlers.ts";
import { refuseUnknownParameters } from "./shared/known-parameters.ts";
import { invitationHandlers } from "./sign-in/invitation-handlers.ts";
import { passkeyHandlers } from "./sign-in/passkey-handlers.ts";
import { sessionHandlers } from "./sign-in/session-handlers.ts";
import { tokenHandlers } from "./tokens/token-handlers.ts";

/** @param publicUrl where people reach this server; asked for when it listens */
export function addReviewRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  publicUrl: () => string,
  report: Report,
): void {
  app.addHook("preHandler", refuseUnknownParameters);
  addPageRoutes(app, context);
  const limits = new SignInLimits(context.clock);
  const { bodyBytesMax } = context.settings;
  const add = <Rows extends OperationTable>(rows: Rows, handlers: Handlers<Rows>) =>
    addOperationRoutes(app, gate, rows, handlers, bodyBytesMax);
  const onClose = (stop: () => void) => {
    app.addHook("preClose", async () => stop());
  };
  add(account, accountHandlers(context, limits));
  add(audit, auditHandlers(context, onClose));
  add(channels, channelHandlers(context));
  add(events, eventHandlers(context, gate, report, onClose));
  add(deliveries, deliveryHandlers(context));
  add(freezes, freezeHandlers(context));
  add(grants, grantHandlers(context));
  add(history, historyHandlers(context, onClose));
  add(instances, instanceHandlers(context));
  add(invitations, invitationHandlers(context, publicUrl));
  add(passkeys, passkeyHandlers(context, publicUrl, limits));
  add(people, peopleHandlers(context));
  add(policy, policyHandlers(context, onClose));
  add(push, pushHandlers(context));
  add(requests, requestHandlers(context, publicUrl));
  add(session, sessionHandlers(context, publicUrl, limits));
  add(tokens, tokenHandlers(context));
}
