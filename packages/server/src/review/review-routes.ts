/**
 * The reviewer surface: everything that people and their tools do, each in a file of its own. An
 * agent's credential never reaches any of it.
 */

import type { FastifyInstance } from "fastify";
import type { Context } from "../context.ts";
import type { Gate } from "../http/authenticate.ts";
import type { Report } from "../report.ts";
import { addAccountRoutes } from "./account-routes.ts";
import { addAuditRoutes } from "./audit-routes.ts";
import { addChannelRoutes } from "./channel-routes.ts";
import { addConsoleRoutes } from "./console-routes.ts";
import { addDeliveryRoutes } from "./delivery-routes.ts";
import { addEventRoutes } from "./event-routes.ts";
import { addFreezeRoutes } from "./freeze-routes.ts";
import { addGrantRoutes } from "./grant-routes.ts";
import { addHistoryRoutes } from "./history-routes.ts";
import { addInstanceRoutes } from "./instance-routes.ts";
import { addInvitationRoutes } from "./invitation-routes.ts";
import { refuseUnknownParameters } from "./known-parameters.ts";
import { addOidcRoutes } from "./oidc-routes.ts";
import { addPageRoutes } from "./page-routes.ts";
import { addPasskeyRoutes } from "./passkey-routes.ts";
import { addPeopleRoutes } from "./people-routes.ts";
import { addPolicyRoutes } from "./policy-routes.ts";
import { addPreferenceRoutes } from "./preference-routes.ts";
import { addPushRoutes } from "./push-routes.ts";
import { addRequestRoutes } from "./request-routes.ts";
import { addSessionRoutes } from "./session-routes.ts";
import { SignInLimits } from "./sign-in-limits.ts";
import { addSignInRoutes } from "./sign-in-routes.ts";

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
  addRequestRoutes(app, context, gate, publicUrl);
  addHistoryRoutes(app, context, gate);
  addAuditRoutes(app, context, gate);
  addDeliveryRoutes(app, context, gate);
  addPolicyRoutes(app, context, gate);
  addInstanceRoutes(app, context, gate);
  addFreezeRoutes(app, context, gate);
  addGrantRoutes(app, context, gate);
  const limits = new SignInLimits(context.clock);
  addOidcRoutes(app, context, gate, publicUrl);
  addSessionRoutes(app, context, gate);
  addSignInRoutes(app, context, gate, limits);
  addPasskeyRoutes(app, context, gate, publicUrl, limits);
  addAccountRoutes(app, context, gate, limits);
  addPreferenceRoutes(app, context, gate);
  addPushRoutes(app, context, gate);
  addPageRoutes(app, context);
  addConsoleRoutes(app);
  addInvitationRoutes(app, context, gate, publicUrl);
  addPeopleRoutes(app, context, gate);
  addChannelRoutes(app, context, gate);
}
