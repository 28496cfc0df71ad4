/**
 * The options of a run: the provider, credentials, and the tools for rules that cannot be tested
 * with the contract's operations alone.
 */

import type { CertificateAuthority } from "./receiver/certificates.ts";
import type { ScenarioOutcome } from "./report.ts";

export interface ConformanceOptions {
  /** Base URL of the provider, such as `https://approvals.example.com`, without `/v1`. */
  readonly baseUrl: string;
  readonly credential: Credential;
  /** Additional root certificates (PEM) to verify the provider's certificate. */
  readonly providerCa?: string;
  /** Makes the provider decide. Without it, scenarios that need a decision are not tested. */
  readonly decider?: Decider;
  /** Address of this machine for webhooks. Without it, scenarios with a receiver are not tested. */
  readonly receiver?: ReceiverOptions;
  /** True: the provider has only synchronous mode, so rules about webhooks do not apply. */
  readonly synchronousOnly?: boolean;
  /** Ids of scenarios, or prefixes of ids up to a dot. */
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  readonly timing?: Partial<Timing>;
  /** Number of concurrent scenarios. Up to the same number of slow scenarios runs in addition. */
  readonly concurrency?: number;
  /** Receives every scenario when it ends. */
  readonly onOutcome?: (outcome: ScenarioOutcome) => void;
  /** Stops the run early: unfinished scenarios are not tested. */
  readonly signal?: AbortSignal;
}

export interface Credential {
  readonly provisionerToken: string;
  /** Token of another provisioner with a separate scope. */
  readonly otherProvisionerToken?: string;
}

export type Verdict = "approve" | "deny";

export interface DeciderInput {
  readonly requestId: string;
  readonly verdict: Verdict;
  readonly note?: string;
}

/**
 * Makes the provider decide, like a reviewer. The contract has no operation for that.
 */
export interface Decider {
  /** Rejects if the provider did not accept the verdict, for example for a terminal request. */
  decide(input: DeciderInput): Promise<void>;
}

export interface ReceiverOptions {
  /** The name or address in the receiver URLs, and in the certificate. */
  readonly host: string;
  /** Port to listen on, also in the URLs. 0 selects a free port. */
  readonly port?: number;
  /** Port of a second listener with a certificate that providers must not trust. 0: a free port. */
  readonly otherPort?: number;
  /** Address to listen on. Default: loopback for a loopback host, otherwise all addresses. */
  readonly listen?: string;
  /** Issues the receiver's certificate. The provider must trust it. */
  readonly authority: CertificateAuthority;
}

/** Time limits, in milliseconds. */
export interface Timing {
  /** Time to wait before concluding that no message was sent. */
  readonly quietMs: number;
  /** Limit for immediate events: an answer, the end of a poll, a visible expiry. */
  readonly patienceMs: number;
  /** Limit for the next attempt of a notification. */
  readonly retryPatienceMs: number;
  /** The longest request timeout to wait for, if a provider rejects a timeout of one second. */
  readonly windowMsMax: number;
  /** Limit for all scenarios together. */
  readonly totalMs: number;
}

export const DEFAULT_TIMING: Timing = {
  quietMs: 7_000,
  patienceMs: 10_000,
  retryPatienceMs: 60_000,
  windowMsMax: 15_000,
  totalMs: 300_000,
};

export const DEFAULT_CONCURRENCY = 12;
