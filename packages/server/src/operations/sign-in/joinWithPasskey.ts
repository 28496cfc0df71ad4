import type { Context } from "../../context.ts";
import type { BrowserCredential, RelyingParty } from "../../identity/passkeys.ts";
import { beginSession } from "../../steps/access/beginSession.ts";
import { bindPasskey } from "../../steps/sign-in/bindPasskey.ts";
import { type InvitationUse, useInvitation } from "../../steps/sign-in/useInvitation.ts";
import { openInvitation } from "./openInvitation.ts";

export interface PasskeyJoin extends InvitationUse {
  readonly answer: BrowserCredential;
  /** Display name of the passkey, chosen by its owner. */
  readonly passkeyName: string;
  readonly userAgent: string;
}

/**
 * Uses a link with a new passkey in place of a password, and signs in.
 *
 * @returns what the cookie holds
 * @throws Problem `passkey_refused`, and what useInvitation throws; then the link stays as it was
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
    return beginSession(tx, context, order);
  });
}
