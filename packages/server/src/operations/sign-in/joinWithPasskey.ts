import type { Context } from "../../context.ts";
import type { BrowserCredential, RelyingParty } from "../../identity/passkeys.ts";
import { createSession } from "../../steps/access/createSession.ts";
import { bindPasskey } from "../../steps/sign-in/bindPasskey.ts";
import { type InvitationUse, useInvitation } from "../../steps/sign-in/useInvitation.ts";
import { openInvitation } from "./openInvitation.ts";

export interface PasskeyJoin extends InvitationUse {
  readonly answer: BrowserCredential;
  /** Display name of the passkey that the owner chose. */
  readonly passkeyName: string;
  readonly userAgent: string;
}

/**
 * Uses a link with a new passkey, and signs in.
 *
 * @returns the cookie value
 * @throws Problem `passkey_refused`, and those of useInvitation; the link stays unused then
 */
export async function joinWithPasskey(
  context: Context,
  party: RelyingParty,
  { answer, passkeyName, userAgent, ...use }: PasskeyJoin,
): Promise<string> {
  await openInvitation(context, use.token);
  const bind = await bindPasskey(context, party, use.token, answer, passkeyName);
  return context.store.transact(async (tx) => {
    const { person, projectId } = await useInvitation(tx, context, use, bind);
    const order = { personId: person.id, method: "passkey", userAgent, projectId } as const;
    return createSession(tx, context, order);
  });
}
