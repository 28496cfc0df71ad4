/**
 * Runs the kit against the provider, with a fault or without one.
 */

import {
  createAuthority,
  REQUIREMENTS,
  type Report,
  runConformance,
  SCENARIOS,
  type ScenarioOutcome,
  type Timing,
} from "../../src/index.ts";
import type { Fault } from "./faults/fault.ts";
import type { ProviderOptions } from "./ledger.ts";
import { startBrokenProvider } from "./provider.ts";

const authority = createAuthority();

const HOST = "127.0.0.1";

export interface Examination {
  readonly fault?: Fault;
  readonly options?: ProviderOptions;
  /** Ids of scenarios; all without it. */
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  readonly timing?: Partial<Timing>;
}

export async function examine(examination: Examination): Promise<Report> {
  const { fault, options, only, skip, timing } = examination;
  const chosen = {
    ca: [authority.certificate],
    backoffMs: 50,
    backoffMsMax: 200,
    ...options,
    ...fault?.options,
  };
  const provider = await startBrokenProvider(chosen, fault?.plant);
  try {
    return await runConformance({
      baseUrl: provider.url,
      credential: {
        provisionerToken: provider.provisionerToken,
        otherProvisionerToken: provider.otherProvisionerToken,
      },
      decider: {
        async decide({ requestId, verdict, note }) {
          const status = verdict === "approve" ? "approved" : "denied";
          if (!provider.decide(requestId, status, note)) throw new Error("not taken");
        },
      },
      receiver: { host: HOST, port: 0, otherPort: 0, authority },
      synchronousOnly: chosen.webhooks === false,
      ...(only && { only }),
      ...(skip && { skip }),
      ...(timing && { timing }),
    });
  } finally {
    await provider.stop();
  }
}

/** Rules of every answer and of every message are tried by whatever asks for one. */
const ANY_ANSWER = [
  "provision.created",
  "create.recorded",
  "cancel.pending",
  "decide.approve",
  "authentication.missing",
  "instance.unknown",
  "provision.conflict",
  "create.required",
];
const ANY_MESSAGE = ["receiver.verified", "notify.cancelled"];

/** Scenarios about a rule which the fault breaks, in groups: the quick ones first. */
export function fitting({ breaks, options, seenBy }: Fault): readonly (readonly string[])[] {
  if (seenBy !== undefined) return [seenBy];
  const mode = options?.webhooks === false ? "asynchronous" : "synchronous-only";
  const citing = SCENARIOS.filter(
    (scenario) => scenario.mode !== mode && scenario.requirements.some((id) => breaks.includes(id)),
  );
  const groups = [citing.filter(({ isSlow }) => !isSlow), citing.filter(({ isSlow }) => isSlow)];
  const found = groups.map((group) => group.map(({ id }) => id)).filter(({ length }) => length > 0);
  if (found.length > 0) return found;
  const isOfMessages = REQUIREMENTS.some(
    ({ id, check }) => check === "every message" && breaks.some((each) => each === id),
  );
  return [isOfMessages ? ANY_MESSAGE : ANY_ANSWER];
}

/**
 * The scenarios that failed for the fault: a rule was seen broken which it breaks, or the scenario
 * is about one and stumbled over another.
 */
export function catching({ breaks }: Fault, { scenarios }: Report): readonly ScenarioOutcome[] {
  return scenarios.filter(
    ({ violated, requirements }) =>
      violated !== undefined && breaks.some((id) => id === violated || requirements.includes(id)),
  );
}
