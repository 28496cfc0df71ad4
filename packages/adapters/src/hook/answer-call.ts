/**
 * Asks the provider about one call and waits for the decision. The answer allows the call in one
 * case: the provider approved exactly this call, and the use of the approval was recorded.
 *
 * Called by: run-hook. Promises: never throws.
 */

import { randomInt } from "node:crypto";
import { formatDuration, Problem } from "@countersign/protocol";
import { Client, Gate, type NotPermitted, type Pending, SdkError } from "@countersign/sdk";
import { FileStore } from "@countersign/sdk/file-store";
import type { Agent } from "../agents.ts";
import { type HookSettings, UnusableSetup } from "../profile/hook-settings.ts";
import { canaryIdOf, canaryReason } from "./canary-call.ts";
import { type HookInput, readHookInput, UnusableInput } from "./hook-input.ts";
import { matchesAny } from "./tool-names.ts";

export type HookAnswer =
  /** `text` goes to stdout, and the exit code is 0. */
  | { readonly kind: "say"; readonly text: string; mayStart(): boolean }
  /** The call does not run, and the model reads `reason`. */
  | { readonly kind: "block"; readonly reason: string };

/** What doctor submits: harmless, and meant to be answered with no. */
export const CANARY_TOOL = "countersign_canary";

/** Nobody should be bothered with it for long. */
const CANARY_WAIT_MS = 4_000;

/** For a provider that is starting again; somebody may sit in front of the agent. */
const WITHIN_MS = 10_000;

/** For taking the request back, while an agent that stops its hook still waits for that. */
const CANCEL_MS = 3_000;

/** Nine days of records are kept; the gate needs eight. */
const KEPT_MS = 9 * 24 * 3_600_000;

/** One call in so many looks for records that can go. */
const PRUNE_EVERY = 256;

export interface HookCall {
  readonly agent: Agent;
  readonly bytes: Uint8Array;
  readonly settings: () => HookSettings;
  /** Aborted when nobody waits for the answer, or nobody may wait any longer. */
  readonly signal: AbortSignal;
}

export async function answerCall(call: HookCall): Promise<HookAnswer> {
  try {
    return await ask(call);
  } catch (error) {
    return block(explain(error, call.agent));
  }
}

async function ask({ agent, bytes, settings: read, signal }: HookCall): Promise<HookAnswer> {
  const input = readHookInput(bytes, agent);
  const canaryId = canaryIdOf(input.arguments);
  if (canaryId !== undefined) return block(canaryReason(canaryId));
  const settings = read();
  if (input.tool !== CANARY_TOOL && matchesAny(input.tool, settings.leave)) {
    return say(agent.left);
  }
  const store = new FileStore(settings.uses);
  if (randomInt(PRUNE_EVERY) === 0) await store.prune(KEPT_MS);
  const client = new Client(settings.url, settings.token, { withinMs: WITHIN_MS });
  // The answer says what a warning would say; the model reads stderr.
  const gate = new Gate(client, { store, cancelMs: CANCEL_MS, warn: () => {} });
  const verdict = await gate.check({ ...submissionOf(input, settings), signal });
  await gate.settled();
  if (!verdict.permitted) return block(reasonOf(verdict));
  // The canary never runs. Doctor reads from the provider that it was approved.
  if (input.tool === CANARY_TOOL) return block("The canary was approved, and is not run.");
  const text = settings.keepPrompts ? agent.left : agent.approved;
  return { kind: "say", text, mayStart: () => verdict.mayStart() };
}

/** The call as it is submitted: the same for the same input. */
export function submissionOf(input: HookInput, { waitMs }: HookSettings) {
  const ms = input.tool === CANARY_TOOL ? Math.min(CANARY_WAIT_MS, waitMs) : waitMs;
  return { ...input, timeout: formatDuration(ms) };
}

/** What the provider's record says; the rest are faults, on the way to it or of our own. */
const DECIDED = ["denied", "expired", "cancelled", "lapsed", "already_used"];

/** What the model reads, and its user. */
function reasonOf(verdict: NotPermitted | Pending): string {
  const { kind, reason, requestId } = verdict;
  if (DECIDED.includes(kind)) return reason;
  // Only where somebody may want to look it up; a decision speaks for itself.
  const about = requestId === undefined ? "" : ` (request ${requestId})`;
  return `${reason}${about}`;
}

/** Errors whose messages hold neither a path nor a part of the call. */
const EXPLAINED = [UnusableInput, UnusableSetup, Problem, SdkError];

function explain(error: unknown, { name }: Agent): string {
  const isExplained = EXPLAINED.some((type) => error instanceof type);
  if (isExplained) return `This call was not run. ${Object(error).message}`;
  const { code = "unknown error" } = Object(error);
  const what = `The hook cannot use its profile or its records (${code})`;
  return `This call was not run. ${what}. Run: countersign doctor ${name}`;
}

function block(reason: string): HookAnswer {
  return { kind: "block", reason };
}

function say(text: string): HookAnswer {
  return { kind: "say", text, mayStart: () => true };
}
