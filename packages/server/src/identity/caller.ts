/**
 * Who is calling, as established from the credential alone.
 *
 * @see contract: Authentication
 */

import type { ReviewerRole } from "../core/roles.ts";

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
}

export interface ReviewerCaller extends AnyCaller {
  readonly kind: "reviewer";
  readonly reviewerId: string;
  readonly name: string;
  readonly role: ReviewerRole;
  readonly groups: readonly string[];
}

export type Caller = ProvisionerCaller | InstanceCaller | ReviewerCaller;
