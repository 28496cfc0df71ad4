/**
 * The options of {@link Countersign}: their validation and defaults.
 */

import {
  ApprovalClient,
  type ApprovalClientOptions,
  type ApprovalProvider,
  CLIENT_OPTIONS,
} from "./approval-client.ts";
import { systemTiming, type Timing } from "./clock.ts";
import type { ConsumptionStore } from "./consumption-store.ts";
import {
  type DecisionWindow,
  type Duration,
  readDecisionWindow,
  readDuration,
} from "./duration.ts";
import { SdkError } from "./errors.ts";
import { assertKnownOptions } from "./known-options.ts";
import type { ObserverOptions } from "./observers.ts";
import { MARGIN_MS } from "./validity.ts";

/** Options of {@link Countersign}. Those of {@link ApprovalClientOptions} select the provider. */
export interface CountersignOptions extends ApprovalClientOptions, ObserverOptions {
  /**
   * Replaces the client of a provider: a {@link DevelopmentProvider}, or another implementation.
   * Then the options of {@link ApprovalClientOptions} are not allowed, except `timing`.
   */
  readonly provider?: ApprovalProvider | undefined;
  /**
   * Records which approvals were used, in place of the provider. Use it for a provider that cannot
   * record uses, and for results that must survive a restart.
   */
  readonly store?: ConsumptionStore | undefined;
  /** False: calls return `pending` instead of waiting for their decision. Default: true. */
  readonly wait?: boolean | undefined;
  /** Time that reviewers have to decide. Default: `1h`. */
  readonly timeout?: DecisionWindow | undefined;
  /** No call starts within this time before its approval expires. Default: `500ms`. */
  readonly safetyMargin?: Duration | undefined;
  /** Time to poll after the deadline for the final status. Default: `10s`. */
  readonly gracePeriod?: Duration | undefined;
  /** Time limit for cancelling an abandoned request. Default: `5s`. */
  readonly cancelTimeout?: Duration | undefined;
}

/** Validated options with their defaults. */
export interface Settings {
  readonly provider: ApprovalProvider;
  readonly store: ConsumptionStore | undefined;
  readonly wait: boolean;
  readonly timeout: DecisionWindow;
  readonly safetyMarginMs: number;
  readonly graceMs: number;
  readonly cancelTimeout: Duration;
  readonly timing: Timing;
}

const OWN = [
  "provider",
  "store",
  "wait",
  "timeout",
  "safetyMargin",
  "gracePeriod",
  "cancelTimeout",
  "onPending",
  "onDecision",
  "logger",
] as const;

const GRACE_MS = 10_000;
const CANCEL_TIMEOUT = "5s";

/** @throws SdkError `invalid_option` */
export function readSettings(options: CountersignOptions): Settings {
  assertKnownOptions("new Countersign()", options, [...CLIENT_OPTIONS, ...OWN]);
  const { store, wait = true, timing = systemTiming, cancelTimeout = CANCEL_TIMEOUT } = options;
  if (store !== undefined && typeof store.consume !== "function") {
    throw invalid("Invalid store. Expected for example new FileStore(folder).");
  }
  if (typeof wait !== "boolean") throw invalid("Invalid wait. Expected true or false.");
  assertObservers(options);
  readDuration("cancelTimeout", cancelTimeout, 0);
  return {
    provider: readProvider(options),
    store,
    wait,
    timeout: readDecisionWindow("timeout", options.timeout, "1h"),
    safetyMarginMs: readDuration("safetyMargin", options.safetyMargin, MARGIN_MS),
    graceMs: readDuration("gracePeriod", options.gracePeriod, GRACE_MS),
    cancelTimeout,
    timing,
  };
}

/** An unusable logger would hide that a call waits. */
function assertObservers({ logger, onPending, onDecision, fetch }: CountersignOptions): void {
  const isLogger =
    logger === undefined ||
    logger === false ||
    (typeof logger.info === "function" && typeof logger.warn === "function");
  if (!isLogger) throw invalid("Invalid logger. Expected an object with info and warn, or false.");
  for (const [name, given] of Object.entries({ onPending, onDecision, fetch })) {
    if (given === undefined || typeof given === "function") continue;
    throw invalid(`Invalid ${name}. Expected a function.`);
  }
}

function readProvider(options: CountersignOptions): ApprovalProvider {
  const { provider } = options;
  if (provider === undefined) {
    // Includes members that are undefined, which the client rejects.
    const given = CLIENT_OPTIONS.filter((name) => Object.hasOwn(options, name));
    return new ApprovalClient(Object.fromEntries(given.map((name) => [name, options[name]])));
  }
  const others = CLIENT_OPTIONS.filter((name) => {
    return name !== "timing" && options[name] !== undefined;
  });
  if (others.length > 0) {
    throw invalid(`Remove ${others.join(", ")}, or provider: they exclude each other.`);
  }
  const { url, create, read, cancel } = Object(provider) as Partial<ApprovalProvider>;
  const methods = [create, read, cancel];
  const isProvider = methods.every((method) => typeof method === "function");
  if (!isProvider || typeof url !== "string") {
    throw invalid("Invalid provider. Expected an ApprovalProvider.");
  }
  return provider;
}

function invalid(message: string): SdkError {
  return new SdkError("invalid_option", message);
}
