/**
 * What a run is given: the provider, credentials, and whatever else it takes to test the rules
 * that the contract has no operation for.
 */

import type { CertificateAuthority } from "./receiver/certificates.ts";
import type { ScenarioOutcome } from "./report.ts";

export interface ConformanceOptions {
  /** Where the provider's paths begin, like `https://approvals.example.com`; without `/v1`. */
  readonly baseUrl: string;
  readonly credential: Credential;
  /** PEM roots to trust besides the usual ones, when the provider's certificate needs them. */
  readonly providerCa?: string;
  /** Who decides. Without one, what needs a decision is not tested. */
  readonly decider?: Decider;
  /** Where the provider reaches this machine. Without it, what needs a receiver is not tested. */
  readonly receiver?: ReceiverOptions;
  /** The provider claims synchronous mode alone, so what concerns webhooks does not apply. */
  readonly synchronousOnly?: boolean;
  /** Ids of scenarios, or beginnings of ids up to a dot. */
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  readonly timing?: Partial<Timing>;
  /** Scenarios that run at the same time; beside them, as many of those that mostly wait. */
  readonly concurrency?: number;
  /** Receives every scenario when it ends. */
  readonly onOutcome?: (outcome: ScenarioOutcome) => void;
  /** Ends the run early: what has not ended by then is not tested. */
  readonly signal?: AbortSignal;
}

export interface Credential {
  readonly provisionerToken: string;
  /** Of another provisioner, whose scope has nothing in common with the first one's. */
  readonly otherProvisionerToken?: string;
}

export type Verdict = "approve" | "deny";

export interface DeciderInput {
  readonly requestId: string;
  readonly verdict: Verdict;
  readonly note?: string;
}

/**
 * Makes the provider decide, as a person would: the contract has no operation for that.
 */
export interface Decider {
  /** Rejects when the verdict was not taken, for instance because the request is terminal. */
  decide(input: DeciderInput): Promise<void>;
}

export interface ReceiverOptions {
  /** The name or address in the receiver URLs, and in the certificate. */
  readonly host: string;
  /** Listened on, and in the URLs; 0 takes a free one. */
  readonly port?: number;
  /** Of a second listener, whose certificate no provider should trust; 0 takes a free one. */
  readonly otherPort?: number;
  /** The address that is listened on; else loopback for a loopback host, or all there are. */
  readonly listen?: string;
  /** Issues the receiver's certificate; the provider has to trust it. */
  readonly authority: CertificateAuthority;
}

/** How long to wait for what, in milliseconds. */
export interface Timing {
  /** How long nothing may arrive, where nothing may. */
  readonly quietMs: number;
  /** For what happens at once: an answer, the end of a poll, an expiry that shows. */
  readonly patienceMs: number;
  /** For the next attempt of a notification. */
  readonly retryPatienceMs: number;
  /** The longest window that is waited for, at a provider that accepts no window of a second. */
  readonly windowMsMax: number;
  /** For all scenarios together. */
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
