/**
 * The caller of an exchange. Only the credential determines it.
 *
 * @see contract: Authentication
 */

import type { ChatKind } from "../core/chat.ts";
import type { ReviewerRole } from "../core/roles.ts";
import type { Scopes } from "../core/scopes.ts";
import type { Place } from "../policy/place.ts";
import type { Membership, StoredPerson } from "../storage/sql/people/people.ts";
import type { StoredSession } from "../storage/sql/sign-in/sessions.ts";

interface AnyCaller {
  readonly credentialId: string;
  /** The caller's project. Everything outside it is `not_found`. */
  readonly projectId: string;
}

export interface ProvisionerCaller extends AnyCaller {
  readonly kind: "provisioner";
  /** Owner of the idempotency keys of all its tokens. */
  readonly provisionerId: string;
}

export interface InstanceCaller extends AnyCaller {
  readonly kind: "instance";
  readonly instanceId: string;
  /** Hash of the token, which finds its row. */
  readonly tokenHash: string;
}

export interface ReviewerCaller extends AnyCaller {
  readonly kind: "reviewer";
  readonly reviewerId: string;
  readonly name: string;
  readonly role: ReviewerRole;
  readonly groups: readonly string[];
  /** Hash of the token, which finds its row; undefined without a token. */
  readonly tokenHash?: string | undefined;
  /** True for a bot. Its approvals count only where a rule allows it. */
  readonly isBot: boolean;
  /** Scopes of the token; null: all powers of the role. */
  readonly scopes: Scopes;
  /** The signed-in user; null for reviewers that only have tokens. */
  readonly personId: string | null;
  /** The session; null for a token or a chat. Its id is also `credentialId`. */
  readonly session: StoredSession | null;
  /** The message in a chat; undefined for sessions and tokens. */
  readonly chat?: ChatOrigin | undefined;
}

/** A message in a chat whose button a linked user pressed. `credentialId` is the id of the link. */
export interface ChatOrigin {
  readonly kind: ChatKind;
  /** For the audit log: the user and the message. */
  readonly text: string;
}

/** Where a verdict of the caller is made. */
export function placeOf({ session, chat }: ReviewerCaller): Place {
  if (chat !== undefined) return chat.kind;
  return session === null ? "api" : "console";
}

/** A signed-in user, with or without a project. */
export interface SignedIn {
  readonly session: StoredSession;
  readonly person: StoredPerson;
  /** In the project of the call; undefined when the user is not a reviewer there. */
  readonly membership: Membership | undefined;
}

/** An identity provider that manages users and groups of the whole server. */
export interface ScimCaller {
  /** Id of the token. */
  readonly tokenId: string;
}

export type Caller = ProvisionerCaller | InstanceCaller | ReviewerCaller;
