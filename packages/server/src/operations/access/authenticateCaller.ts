import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { Caller } from "../../identity/caller.ts";
import { hashToken, isWellFormedToken } from "../../secrets/token.ts";
import { mayAuthenticate, toReviewerCaller } from "../../steps/access/mayAuthenticate.ts";
import { assertCredentialActive } from "../../steps/access/recheckInstance.ts";
import { readCredentialByHash } from "../../storage/sql/access/credentials.ts";
import { readReviewer } from "../../storage/sql/access/holders.ts";

const BEARER = /^bearer +([^\s]+) *$/i;

/**
 * Authenticates an `Authorization` header. Missing, malformed, unknown, expired and revoked
 * credentials have the same answer.
 *
 * @throws Problem `invalid_credential`
 * @see contract: Authentication; RFC 6750 section 2.1; RFC 9110 section 11.1 (the scheme is
 *   case-insensitive)
 */
export async function authenticateCaller(
  context: Context,
  authorization: string | undefined,
): Promise<Caller> {
  const token = BEARER.exec(authorization ?? "")?.[1];
  if (token === undefined || !isWellFormedToken(token)) throw new Problem("invalid_credential");
  const tokenHash = hashToken(token);
  const credential = assertCredentialActive(
    context,
    await readCredentialByHash(context.store, tokenHash),
  );
  const { id: credentialId, projectId, holderId } = credential;
  switch (credential.kind) {
    case "provisioner":
      return { kind: "provisioner", credentialId, projectId, provisionerId: holderId };
    case "instance":
      return { kind: "instance", credentialId, tokenHash, projectId, instanceId: holderId };
    case "reviewer": {
      const reviewer = await readReviewer(context.store, { projectId, id: holderId });
      if (reviewer === undefined || !(await mayAuthenticate(context.store, reviewer))) {
        throw new Problem("invalid_credential");
      }
      return toReviewerCaller(reviewer, {
        credentialId,
        projectId,
        scopes: credential.scopes,
        tokenHash,
        session: null,
      });
    }
  }
}
