/**
 * Who is calling, as established from the credential alone.
 *
 * @see contract: Authentication
 */

import type { ReviewerRole } from "../core/roles.ts";
import type { Scopes } from "../core/scopes.ts";
import type { Membership, StoredPerson } from "../storage/sql/people/people.ts";
import type { StoredSession } from "../storage/sql/sign-in/sessions.ts";

interface AnyCaller {
  readonly credentialId: string;
  /** What the caller may touch; everything outside it does not exist for the caller. */
  readonly projectId: string;
}

export interface ProvisionerCaller extends AnyCaller {
  readonly kind: "provisioner";
  /** Owns the idempotency keys, whichever of its tokens sent them. */
  readonly provisionerId: string;
}

export interface InstanceCaller extends AnyCaller {
  readonly kind: "instance";
  readonly instanceId: string;
  /** Of the token that was sent, by which its row is found. */
  readonly tokenHash: string;
}

export interface ReviewerCaller extends AnyCaller {
  readonly kind: "reviewer";
  readonly reviewerId: string;
  readonly name: string;
  readonly role: ReviewerRole;
  readonly groups: readonly string[];
  /** Of the token that was sent, by which its row is found; undefined where none was. */
  readonly tokenHash?: string | undefined;
  /** Whether it is no person: its approvals count only where a rule says so. */
  readonly isBot: boolean;
  /** What the token may do of all that the role allows; null: all of it. */
  readonly scopes: Scopes;
  /** Who it is when a person signed in; null for those who only have tokens. */
  readonly personId: string | null;
  /** Through which they are signed in; null for a token. Its id is then `credentialId`. */
  readonly session: StoredSession | null;
}

/** A signed-in user, with or without a project. */
export interface SignedIn {
  readonly session: StoredSession;
  readonly person: StoredPerson;
  /** In the selected project of the session; undefined when they are not a reviewer there. */
  readonly membership: Membership | undefined;
}

export type Caller = ProvisionerCaller | InstanceCaller | ReviewerCaller;
