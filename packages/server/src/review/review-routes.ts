/**
 * The reviewer surface: everything that people and their tools do, each in a file of its own. An
 * agent's credential never reaches any of it.
 */

import { channels, freezes, grants, instances, push, requests } from "@countersign/review-api";
import type { FastifyInstance } from "fastify";
import type { Context } from "../context.ts";
import type { Gate } from "../http/authenticate.ts";
import { addOperationRoutes } from "../http/operation-routes.ts";
import type { Report } from "../report.ts";
import { SignInLimits } from "./access/sign-in-limits.ts";
import { addAuditRoutes } from "./audit/audit-routes.ts";
import { channelHandlers } from "./channels/channel-handlers.ts";
import { addDeliveryRoutes } from "./deliveries/delivery-routes.ts";
import { freezeHandlers } from "./freezes/freeze-handlers.ts";
import { grantHandlers } from "./grants/grant-handlers.ts";
import { addHistoryRoutes } from "./history/history-routes.ts";
import { instanceHandlers } from "./instances/instance-handlers.ts";
import { addEventRoutes } from "./live/event-routes.ts";
import { addPageRoutes } from "./pages/page-routes.ts";
import { addAccountRoutes } from "./people/account-routes.ts";
import { addPeopleRoutes } from "./people/people-routes.ts";
import { addPreferenceRoutes } from "./people/preference-routes.ts";
import { addPolicyRoutes } from "./policy/policy-routes.ts";
import { pushHandlers } from "./push/push-handlers.ts";
import { requestHandlers } from "./requests/request-handlers.ts";
import { refuseUnknownParameters } from "./shared/known-parameters.ts";
import { addInvitationRoutes } from "./sign-in/invitation-routes.ts";
import { addOidcRoutes } from "./sign-in/oidc-routes.ts";
import { addPasskeyRoutes } from "./sign-in/passkey-routes.ts";
import { addSessionRoutes } from "./sign-in/session-routes.ts";
import { addSignInRoutes } from "./sign-in/sign-in-routes.ts";

/** @param publicUrl where people reach this server; asked for when it listens */
export function addReviewRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  publicUrl: () => string,
  report: Report,
): void {
  app.addHook("preHandler", refuseUnknownParameters);
  addEventRoutes(app, context, gate, publicUrl, report);
  addHistoryRoutes(app, context, gate);
  addAuditRoutes(app, context, gate);
  addDeliveryRoutes(app, context, gate);
  addPolicyRoutes(app, context, gate);
  const { bodyBytesMax } = context.settings;
  addOperationRoutes(app, gate, freezes, freezeHandlers(context), bodyBytesMax);
  addOperationRoutes(app, gate, grants, grantHandlers(context), bodyBytesMax);
  addOperationRoutes(app, gate, instances, instanceHandlers(context), bodyBytesMax);
  addOperationRoutes(app, gate, requests, requestHandlers(context, publicUrl), bodyBytesMax);
  const limits = new SignInLimits(context.clock);
  addOidcRoutes(app, context, gate, publicUrl);
  addSessionRoutes(app, context, gate);
  addSignInRoutes(app, context, gate, limits);
  addPasskeyRoutes(app, context, gate, publicUrl, limits);
  addAccountRoutes(app, context, gate, limits);
  addPreferenceRoutes(app, context, gate);
  addOperationRoutes(app, gate, push, pushHandlers(context), bodyBytesMax);
  addPageRoutes(app, context);
  addInvitationRoutes(app, context, gate, publicUrl);
  addPeopleRoutes(app, context, gate);
  addOperationRoutes(app, gate, channels, channelHandlers(context), bodyBytesMax);
}
