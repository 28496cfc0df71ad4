/** Handlers of the passkeys of an account, and of the sign-in with a passkey. */

import { Problem } from "@countersign/protocol";
import { JsonText, type passkeys } from "@countersign/review-api";
import type { FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { userAgentOf } from "../../http/peer.ts";
import { sessionCookie } from "../../http/session-cookie.ts";
import { type BrowserCredential, relyingPartyOf } from "../../identity/passkeys.ts";
import { replaceSession } from "../../operations/access/endSession.ts";
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
import { toWirePasskey } from "../shared/passkey-to-wire.ts";
import { setSession } from "./session-to-wire.ts";

/** The name of a passkey until its owner names it. */
const UNNAMED = "Passkey";

/** @param publicUrl base URL of this server, to which passkeys are bound */
export function passkeyHandlers(
  context: Context,
  publicUrl: () => string,
  limits: SignInLimits,
): Handlers<typeof passkeys> {
  const party = () => relyingPartyOf(publicUrl());
  return {
    async listPasskeys({ caller }) {
      return { passkeys: (await listPasskeys(context, caller)).map(toWirePasskey) };
    },

    async beginPasskey({ caller }) {
      return { options: new JsonText(await beginPasskey(context, party(), caller)) };
    },

    async addPasskey({ caller, body: { answer, name = UNNAMED } }) {
      return toWirePasskey(await addPasskey(context, party(), caller, answer, name));
    },

    async renamePasskey({ caller, path, body, request }) {
      const id = credentialIdOf(path.passkey, request);
      return toWirePasskey(await renamePasskey(context, caller, id, body.name));
    },

    async removePasskey({ caller, path, request }) {
      await removePasskey(context, caller, credentialIdOf(path.passkey, request));
      return { removed: true };
    },

    async beginPasskeySignIn() {
      return { options: new JsonText(await beginPasskeySignIn(context, party())) };
    },

    async signInWithPasskey({ body: { answer }, request, reply }) {
      const userAgent = userAgentOf(request);
      const cookie = await signInWithPasskey(context, party(), answer, userAgent).catch((error) => {
        if (limits.mayRecord(OF_PASSKEYS)) recordLater(context, request, answer);
        throw error;
      });
      await replaceSession(context, sessionCookie(request));
      return setSession(reply, context, cookie);
    },

    async beginPasskeyByLink({ body: { token, login } }) {
      const options = await beginPasskeyByLink(context, party(), token, login);
      return { options: new JsonText(options) };
    },

    async joinWithPasskey({ body, request, reply }) {
      const { token, login, name, passkey_name: passkeyName = UNNAMED, answer } = body;
      const userAgent = userAgentOf(request);
      const order = { token, login, name, passkeyName, answer, userAgent };
      const cookie = await joinWithPasskey(context, party(), order);
      await replaceSession(context, sessionCookie(request));
      return setSession(reply, context, cookie);
    },
  };
}

/** One limit for all passkeys: the owner is unknown before the lookup. */
const OF_PASSKEYS = "";

function recordLater(context: Context, request: FastifyRequest, { id }: BrowserCredential): void {
  if (typeof id !== "string" || !CREDENTIAL_ID.test(id)) return;
  context.clock.after(0, () => {
    recordRefusedPasskey(context, id).catch((error: unknown) => {
      request.server.toProblem(error, request.id);
    });
  });
}

const CREDENTIAL_ID = /^[\w-]+$/;

/** @throws Problem `not_found` when it is not base64url */
function credentialIdOf(id: string, request: FastifyRequest): string {
  if (!CREDENTIAL_ID.test(id)) throw new Problem("not_found");
  request.subjectId = id;
  return id;
}
