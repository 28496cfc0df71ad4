/** The dependencies of operations. Composed in provider.ts. */

import type { Clock, Random } from "./clock.ts";
import type { Settings } from "./config/settings.ts";
import type { Actor } from "./core/actor.ts";
import type { AuditSink } from "./delivery/audit-sink.ts";
import type { Delivery } from "./delivery/delivery.ts";
import type { Outbound } from "./egress/outbound.ts";
import type { Examiner } from "./examiner/examiner.ts";
import type { Notifier } from "./notify/notifier.ts";
import type { IdentityProvider } from "./oidc/identity-provider.ts";
import type { WorkloadTokens } from "./oidc/workload-tokens.ts";
import type { PolicyCache } from "./policy/policy-cache.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import type { RecentlyUsed } from "./recently-used.ts";
import type { Keyring } from "./secrets/keyring.ts";
import type { PasswordHasher } from "./secrets/password-hasher.ts";
import type { CachedActiveState } from "./storage/sql/policy/active-state.ts";
import type { Store } from "./storage/store.ts";
import type { Tracing } from "./tracing.ts";
import type { Wake } from "./wake/wake.ts";

/** The identity provider took the last admin of a project away. */
export interface LastAdminLoss {
  readonly projectId: string;
  readonly projectName: string;
  readonly reviewerId: string;
  readonly actor: Actor;
}

export interface Context {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly wake: Wake;
  readonly keyring: Keyring;
  readonly passwords: PasswordHasher;
  readonly settings: Settings;
  /** Limits submissions by the provisioning account of the instance. */
  readonly submissions: RateLimiter;
  /** Limits the events of each user of a chat. */
  readonly chatEvents: RateLimiter;
  /** Limits the notifications of each receiver of a handed-over request. */
  readonly handOverNotices: RateLimiter;
  readonly delivery: Delivery;
  /** Fetches small documents. */
  readonly outbound: Outbound;
  /** Sends announcements through channels. */
  readonly notifier: Notifier;
  /** Destinations of the audit stream. Empty in commands beside a server. */
  readonly auditSinks: readonly AuditSink[];
  /** Undefined without a provider, and in commands beside a server. */
  readonly identityProvider: IdentityProvider | undefined;
  /** Called after a commit. Does nothing in commands beside a server. */
  readonly onLastAdminLost: (loss: LastAdminLoss) => void;
  /** Undefined without workload identity, and in commands beside a server. */
  readonly workloadTokens: WorkloadTokens | undefined;
  /** Undefined when telemetry is off, and in commands beside a server. */
  readonly tracing: Tracing | undefined;
  readonly policies: PolicyCache;
  /** Active policies have their own examiner, because calls wait for it. */
  readonly examiners: Readonly<Record<"drafts" | "active", Examiner>>;
  /** Active state of instances by project and id, valid for one stamp. */
  readonly activeStates: RecentlyUsed<string, CachedActiveState>;
}
