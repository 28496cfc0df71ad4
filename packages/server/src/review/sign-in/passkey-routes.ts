/**
 * Passkeys: what is to be signed for a verdict, signing in with one, and those of an account. For
 * people in a browser; no token reaches what is in here.
 */

import {
  Fields,
  formatTimestamp,
  type JsonObject,
  type JsonValue,
  Problem,
} from "@countersign/protocol";
import { readBody, toPlain, verdictBody } from "@countersign/review-api";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { callerOf, type Gate, signedInBy } from "../../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../../http/exchange.ts";
import { userAgentOf } from "../../http/peer.ts";
import { sessionCookie } from "../../http/session-cookie.ts";
import { type BrowserAnswer, type RelyingParty, relyingPartyOf } from "../../identity/passkeys.ts";
import { replaceSession } from "../../operations/access/endSession.ts";
import { challengeVerdict } from "../../operations/requests/challengeVerdict.ts";
import { addPasskey } from "../../operations/sign-in/addPasskey.ts";
import { beginPasskey, beginPasskeyByLink } from "../../operations/sign-in/beginPasskey.ts";
import { joinWithPasskey } from "../../operations/sign-in/joinWithPasskey.ts";
import { listPasskeys } from "../../operations/sign-in/listPasskeys.ts";
import { recordRefusedPasskey } from "../../operations/sign-in/recordRefusedPasskey.ts";
import { removePasskey } from "../../operations/sign-in/removePasskey.ts";
import { renamePasskey } from "../../operations/sign-in/renamePasskey.ts";
import {
  beginPasskeySignIn,
  signInWithPasskey,
} from "../../operations/sign-in/signInWithPasskey.ts";
import type { SignInLimits } from "../access/sign-in-limits.ts";
import { toVerdict } from "../requests/request-handlers.ts";
import { parsePasskeyName } from "./parse-passkey.ts";
import { sendSignedIn } from "./session-wire.ts";

const PASSKEYS = "/review/v1/account/passkeys";
const SIGN_IN = "/review/v1/session/passkey";
const BY_LINK = "/review/v1/invitation/passkey";

type PartyOf = () => RelyingParty;

/** @param publicUrl where people reach this server; asked for when it listens */
export function addPasskeyRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  publicUrl: () => string,
  limits: SignInLimits,
): void {
  const party = () => relyingPartyOf(publicUrl());
  addChallengeRoute(app, context, gate, party);
  addSignInRoutes(app, context, gate, party, limits);
  addLinkRoutes(app, context, gate, party);
  addAccountRoutes(app, context, gate, party);
}

function addChallengeRoute(app: FastifyInstance, context: Context, gate: Gate, party: PartyOf) {
  const onRequest = gate.admit("reviewer");
  app.post(
    "/review/v1/requests/:id/verdict/challenge",
    { config: { operation: "challengeVerdict" }, onRequest, preHandler: gate.charge },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const id = pathIdentifier(request);
      const verdict = toVerdict(readBody(verdictBody, toPlain(jsonBody(request))));
      const challenge = await challengeVerdict(context, party(), caller, id, verdict);
      const { nonce, options, expiresAt } = challenge;
      const until = formatTimestamp(expiresAt);
      const json = `{"nonce":"${nonce}","options":${options},"expires_at":"${until}"}`;
      return sendJson(reply, 200, json);
    },
  );
}

function addSignInRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  party: PartyOf,
  limits: SignInLimits,
): void {
  const onRequest = gate.admitStranger;
  const bodyLimit = Math.min(BODY_BYTES_MAX, context.settings.bodyBytesMax);

  app.post(
    `${SIGN_IN}/options`,
    { config: { operation: "beginPasskeySignIn" }, onRequest, bodyLimit },
    async (_, reply) => {
      const options = await beginPasskeySignIn(context, party());
      return sendJson(reply, 200, `{"options":${options}}`);
    },
  );

  app.post(
    SIGN_IN,
    { config: { operation: "signInWithPasskey" }, onRequest, bodyLimit },
    async (request, reply) => {
      const answer = readAnswer(jsonBody(request));
      const userAgent = userAgentOf(request);
      const cookie = await signInWithPasskey(context, party(), answer, userAgent).catch((error) => {
        if (limits.mayRecord(OF_PASSKEYS)) recordLater(context, request, answer);
        throw error;
      });
      await replaceSession(context, sessionCookie(request));
      return sendSignedIn(reply, context, cookie);
    },
  );
}

/** The same allowance for all passkeys: whose it is, is not known before it is looked up. */
const OF_PASSKEYS = "";

function recordLater(context: Context, request: FastifyRequest, { id }: BrowserAnswer): void {
  if (typeof id !== "string" || !/^[\w-]+$/.test(id)) return;
  context.clock.after(0, () => {
    recordRefusedPasskey(context, id).catch((error: unknown) => {
      request.server.toProblem(error, request.id);
    });
  });
}

function addLinkRoutes(app: FastifyInstance, context: Context, gate: Gate, party: PartyOf) {
  const onRequest = gate.admitStranger;
  const bodyLimit = Math.min(BODY_BYTES_MAX, context.settings.bodyBytesMax);

  app.post(
    `${BY_LINK}/options`,
    { config: { operation: "beginPasskeyByLink" }, onRequest, bodyLimit },
    async (request, reply) => {
      const fields = new Fields(jsonBody(request), ["token", "login"]);
      const token = fields.required("token", fields.text("token", 1));
      const login = fields.text("login", 1);
      const options = await beginPasskeyByLink(context, party(), token, login);
      return sendJson(reply, 200, `{"options":${options}}`);
    },
  );

  app.post(
    BY_LINK,
    { config: { operation: "joinWithPasskey" }, onRequest, bodyLimit },
    async (request, reply) => {
      const names = ["token", "login", "name", "passkey_name", "answer"];
      const fields = new Fields(jsonBody(request), names);
      const cookie = await joinWithPasskey(context, party(), {
        token: fields.required("token", fields.text("token", 1)),
        login: fields.text("login", 1),
        name: fields.text("name", 1),
        passkeyName: parsePasskeyName(fields.text("passkey_name", 1)),
        answer: toBrowserAnswer(fields.required("answer", fields.object("answer"))),
        userAgent: userAgentOf(request),
      });
      await replaceSession(context, sessionCookie(request));
      return sendSignedIn(reply, context, cookie, 201);
    },
  );
}

/** Before anybody has signed in, no more is read than a passkey's answer can have. */
const BODY_BYTES_MAX = 32_768;

function addAccountRoutes(app: FastifyInstance, context: Context, gate: Gate, party: PartyOf) {
  const onRequest = gate.admitPerson;
  const preHandler = gate.charge;

  app.get(
    PASSKEYS,
    { config: { operation: "listPasskeys" }, onRequest },
    async (request, reply) => {
      const passkeys = await listPasskeys(context, signedInBy(request));
      return sendJson(reply, 200, JSON.stringify({ passkeys: passkeys.map(toWirePasskey) }));
    },
  );

  app.post(
    `${PASSKEYS}/options`,
    { config: { operation: "beginPasskey" }, onRequest, preHandler },
    async (request, reply) => {
      const options = await beginPasskey(context, party(), signedInBy(request));
      return sendJson(reply, 200, `{"options":${options}}`);
    },
  );

  app.post(
    PASSKEYS,
    { config: { operation: "addPasskey" }, onRequest, preHandler },
    async (request, reply) => {
      const fields = new Fields(jsonBody(request), ["name", "answer"]);
      const name = parsePasskeyName(fields.text("name", 1));
      const answer = toBrowserAnswer(fields.required("answer", fields.object("answer")));
      const passkey = await addPasskey(context, party(), signedInBy(request), answer, name);
      return sendJson(reply, 201, JSON.stringify(toWirePasskey(passkey)));
    },
  );

  app.patch(
    `${PASSKEYS}/:id`,
    { config: { operation: "renamePasskey" }, onRequest, preHandler },
    async (request, reply) => {
      const fields = new Fields(jsonBody(request), ["name"]);
      const name = parsePasskeyName(fields.required("name", fields.text("name", 1)));
      const passkey = await renamePasskey(context, signedInBy(request), idOf(request), name);
      return sendJson(reply, 200, JSON.stringify(toWirePasskey(passkey)));
    },
  );

  app.delete(
    `${PASSKEYS}/:id`,
    { config: { operation: "removePasskey" }, onRequest },
    async (request, reply) => {
      await removePasskey(context, signedInBy(request), idOf(request));
      return sendJson(reply, 200, '{"removed":true}');
    },
  );
}

/** A credential id, which is base64url and no identifier of ours. */
function idOf(request: FastifyRequest): string {
  const { id = "" } = request.params as { id?: string };
  if (!/^[\w-]+$/.test(id)) throw new Problem("not_found");
  request.subjectId = id;
  return id;
}

function readAnswer(body: JsonValue): BrowserAnswer {
  const fields = new Fields(body, ["answer"]);
  return toBrowserAnswer(fields.required("answer", fields.object("answer")));
}

function toBrowserAnswer(object: JsonObject): BrowserAnswer {
  return toPlain(object) as BrowserAnswer;
}

type Passkey = Awaited<ReturnType<typeof listPasskeys>>[number];

function toWirePasskey({ id, name, createdAt, usedAt }: Passkey): object {
  return {
    id,
    name,
    created_at: formatTimestamp(createdAt),
    used_at: usedAt === null ? null : formatTimestamp(usedAt),
  };
}
