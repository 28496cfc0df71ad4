/**
 * The proof of a denial that a client returns with its access request. The server encrypts it with
 * its secret key, so an evaluation needs no row, and every replica can verify it.
 *
 * @see AuthZEN Access Request and Approval Profile, draft 1, Binding Token Integrity
 */

import { formatTimestamp, type JsonValue } from "@countersign/protocol";
import type { Context } from "../context.ts";
import { AccessRefusal } from "../core/access-refusal.ts";
import type { AccessRequest } from "../core/access-request.ts";
import type { AuthzenQuestion } from "../core/authzen.ts";
import { boundNames, scopeDigest, splitContext } from "../core/authzen-scope.ts";
import { Failure } from "../failure.ts";
import type { InstanceCaller } from "../identity/caller.ts";

/** How long a client may request access after a denial. */
export const DENIAL_MS_MAX = 10 * 60_000;

/** The content of a token. */
interface Binding {
  /** Epoch ms. */
  readonly expiresAt: number;
  /** The members of `context` of the denied question; the digest covers them. */
  readonly names: readonly string[];
  readonly digest: string;
}

/** @param at time of the denial, epoch ms */
export function bindDenial(
  { keyring }: Context,
  caller: InstanceCaller,
  question: AuthzenQuestion,
  at: number,
): { readonly bindingToken: string; readonly expiresAt: number } {
  const names = boundNames(question);
  const expiresAt = at + DENIAL_MS_MAX;
  const binding: Binding = { expiresAt, names, digest: scopeDigest(question) };
  const bindingToken = keyring.encrypt(JSON.stringify(binding), purposeOf(caller));
  return { bindingToken, expiresAt };
}

/** A denial that belongs to the submitted call. */
export interface VerifiedDenial {
  readonly bindingToken: string;
  /** The submitted question without the added members of its context. */
  readonly question: AuthzenQuestion;
  /** The members of `context` that the denied question did not have. */
  readonly added: ReadonlyMap<string, JsonValue>;
  readonly isExpired: boolean;
}

/** @throws AccessRefusal `not_requestable` or `invalid_denial_binding` */
export function verifyDenial(
  { keyring, clock }: Context,
  caller: InstanceCaller,
  { question, denial }: AccessRequest,
): VerifiedDenial {
  if (denial === undefined) throw new AccessRefusal("not_requestable");
  const { bindingToken, expiresAt } = denial;
  if (bindingToken === undefined) throw new AccessRefusal("invalid_denial_binding");
  const binding = decryptBinding(keyring, bindingToken, purposeOf(caller));
  if (binding === undefined || formatTimestamp(binding.expiresAt) !== expiresAt) {
    throw new AccessRefusal("invalid_denial_binding");
  }
  const { named, others } = splitContext(question.context, binding.names);
  const denied = { ...question, context: named };
  if (scopeDigest(denied) !== binding.digest) throw new AccessRefusal("invalid_denial_binding");
  return {
    bindingToken,
    question: denied,
    added: others,
    isExpired: clock.now() >= binding.expiresAt,
  };
}

/** A token decrypts only for the instance whose call was denied. */
function purposeOf({ projectId, instanceId }: InstanceCaller): string {
  return `authzen denial ${projectId} ${instanceId}`;
}

function decryptBinding(
  keyring: Context["keyring"],
  token: string,
  purpose: string,
): Binding | undefined {
  try {
    return JSON.parse(keyring.decrypt(token, purpose)) as Binding;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}
