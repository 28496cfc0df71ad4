/**
 * Asks the provider about one call and waits for the decision. The answer allows the call in one
 * case: the provider approved exactly this call, and the use of the approval was recorded.
 *
 * Promises: never throws.
 */

import { randomInt } from "node:crypto";
import {
  type Agent,
  CANARY_TOOL,
  canaryIdOf,
  canaryReason,
  DENIED_FOR_ANY_AGENT,
  foreignAgent,
  type HookInput,
  type HookOutput,
  readHookInput,
  UnusableInput,
} from "@countersign/agents";
import { formatDuration, Problem } from "@countersign/protocol";
import {
  Countersign,
  type DecisionWindow,
  type NotExecuted,
  SdkError,
  type Suspended,
} from "@countersign/sdk";
import { FileStore } from "@countersign/sdk/file-store";
import { type HookSettings, UnusableSetup } from "../profile/hook-settings.ts";
import { providerFetch } from "./provider-fetch.ts";
import { matchesAny } from "./tool-names.ts";

export type HookAnswer =
  /** `text` goes to stdout, and the exit code is 0. */
  | { readonly kind: "say"; readonly text: string; mayStart(): boolean }
  /** The call does not run, and the model reads `reason`, in the form of `output`. */
  | { readonly kind: "block"; readonly reason: string; readonly output: HookOutput | undefined };

/** Short, because the canary needs no decision by a reviewer. */
const CANARY_WAIT_MS = 4_000;

/** How long to retry when the provider restarts. A user may wait in front of the agent. */
const RETRY_FOR = "10s";

/** How long a cancellation may take after the agent stopped the hook. */
const CANCEL_TIMEOUT = "3s";

/**
 * One call in this many deletes old records and waits for it. The process exits too early for the
 * deletion that the store does in the background.
 */
const PRUNE_EVERY = 256;

export interface HookCall {
  readonly agent: Agent;
  /** The output for input without a readable event. */
  readonly output: HookOutput;
  readonly bytes: Uint8Array;
  readonly settings: () => HookSettings;
  /** Path of the profile. Lists of tools are beside it. */
  readonly profile: string;
  /** Aborted when the agent has ended or its time limit is near. */
  readonly signal: AbortSignal;
  /** Name of the program, for commands that error messages recommend. */
  readonly program: string;
}

export async function answerCall(call: HookCall): Promise<HookAnswer> {
  const { agent, bytes } = call;
  const foreign = foreignAgent(bytes, agent);
  if (foreign !== undefined) {
    const reason = `${foreign} started the hook of ${agent.title}. Install a hook for ${foreign}.`;
    return block(reason, DENIED_FOR_ANY_AGENT);
  }
  let { output } = call;
  try {
    const input = readHookInput(bytes, agent);
    output = input.event.output;
    return await ask(input, call);
  } catch (error) {
    return block(explain(error, call), output);
  }
}

/** Agents that change the names of tools. Loaded only for a tool of an MCP server. */
const NAMES: Readonly<Record<string, (input: HookInput, profile: string) => Promise<HookInput>>> = {
  codex: async (input, profile) => {
    const { nameCodexCall } = await import("../codex/name-call.ts");
    return nameCodexCall(input, profile);
  },
};

async function ask(input: HookInput, call: HookCall): Promise<HookAnswer> {
  const { agent, profile, settings: read, signal } = call;
  const { output } = input.event;
  const canaryId = canaryIdOf(input.arguments);
  if (canaryId !== undefined) return block(canaryReason(canaryId), output);
  const settings = read();
  if (input.tool !== CANARY_TOOL && matchesAny(input.toolName, settings.leave)) {
    return say(output.left);
  }
  // The model reads stderr, so the store must not write an error there.
  const store = new FileStore(settings.uses, { onPruneError: () => {} });
  if (randomInt(PRUNE_EVERY) === 0) await store.prune();
  const approvals = new Countersign({
    url: settings.url,
    apiKey: settings.token,
    fetch: providerFetch,
    retryFor: RETRY_FOR,
    store,
    cancelTimeout: CANCEL_TIMEOUT,
    // The answer includes what a warning would say. The model reads stderr.
    logger: false,
  });
  const name = input.server === undefined ? undefined : NAMES[agent.name];
  const named = name === undefined ? input : await name(input, profile);
  const verdict = await approvals.check({ ...submissionOf(named, settings), signal });
  await approvals.settled();
  if (verdict.status !== "approved") {
    const isLeft = input.isPrompt && settings.localPrompt && isUnreachable(verdict);
    return isLeft ? say(output.left) : block(reasonOf(verdict), output);
  }
  // The canary never runs. Doctor reads from the provider that it was approved.
  if (input.tool === CANARY_TOOL) return block("The canary was approved, and is not run.", output);
  const text = settings.keepPrompts ? output.left : output.approved;
  return { kind: "say", text, mayStart: () => verdict.mayStart() };
}

/** The submission of a call: identical for the same input. */
export function submissionOf(input: HookInput, { waitMs }: HookSettings) {
  const ms = input.tool === CANARY_TOOL ? Math.min(CANARY_WAIT_MS, waitMs) : waitMs;
  const { tool, server, arguments: args, context, key } = input;
  return {
    tool,
    ...(server === undefined ? {} : { server }),
    arguments: args,
    context,
    idempotencyKey: key,
    timeout: formatDuration(ms) as DecisionWindow,
  };
}

type Reason = (NotExecuted | Suspended)["reason"];

/** True for outcomes that the provider recorded. All others are failures. */
const IS_RECORDED: Readonly<Record<Reason, boolean>> = {
  denied: true,
  expired: true,
  cancelled: true,
  lapsed: true,
  already_used: true,
  pending: false,
  abandoned: false,
  no_decision: false,
  not_recorded: false,
  frozen: false,
};

/** True if no provider received the call, as far as the hook knows. */
function isUnreachable({ reason, requestId, ...rest }: NotExecuted | Suspended): boolean {
  if (reason !== "no_decision" || requestId !== undefined) return false;
  return "error" in rest && rest.error instanceof SdkError && rest.error.code === "unavailable";
}

/** The text for the model and its user. */
function reasonOf(verdict: NotExecuted | Suspended): string {
  const { reason, messageForModel, requestId } = verdict;
  if (IS_RECORDED[reason]) return messageForModel;
  // A failure names the request, so that the operator can find it.
  const about = requestId === undefined ? "" : ` (request ${requestId})`;
  return `${messageForModel}${about}`;
}

/** Errors with messages that contain neither a path nor a part of the call. */
const EXPLAINED = [UnusableInput, UnusableSetup, Problem, SdkError];

function explain(error: unknown, { agent, program }: HookCall): string {
  const isExplained = EXPLAINED.some((type) => error instanceof type);
  if (isExplained) return `This call was not run. ${Object(error).message}`;
  const { code = "unknown error" } = Object(error);
  const what = `The hook cannot use its profile or its records (${code})`;
  return `This call was not run. ${what}. Run: ${program} doctor ${agent.name}`;
}

function block(reason: string, output: HookOutput): HookAnswer {
  return { kind: "block", reason, output };
}

function say(text: string): HookAnswer {
  return { kind: "say", text, mayStart: () => true };
}
