/**
 * The description of a framework for the shared rules: how to run, stream and resume an agent whose
 * scripted model proposes tool calls. The rules themselves are in `framework-rules.ts`.
 */

import type { Countersign, DecisionWindow } from "@countersign/sdk";
import type { NotRun } from "../../src/framework-call.ts";

export interface Payment {
  readonly to: string;
  readonly cents: number;
}

export interface ScriptedCall {
  readonly id: string;
  /** Default: `pay`. */
  readonly tool?: ToolName;
  readonly arguments: Payment;
}

export type ToolName = "pay" | "look";

/** One turn of an agent: its model proposes the calls, receives the results, and stops. */
export interface Turn {
  readonly approvals: Countersign;
  readonly runId: string;
  readonly calls: readonly ScriptedCall[];
  readonly pay: (input: Payment) => string;
  /** Default: returns `seen`. */
  readonly look?: (input: Payment) => string;
  readonly only?: readonly ToolName[] | ((toolName: string) => boolean);
  readonly except?: readonly ToolName[];
  readonly timeout?: DecisionWindow;
  readonly signal?: AbortSignal;
  readonly onNotRun?: (notRun: NotRun) => void;
}

/** `stream`: the streaming API of the framework. */
export type Mode = "complete" | "stream";

/** Results by the id of their call. */
export type Results = Readonly<Record<string, string>>;

export interface Outcome {
  /** The results that the model received, or the client of a framework without a model. */
  readonly results: Results;
  /** The results that the stream delivered. Empty in the mode `complete`. */
  readonly streamed: Results;
  readonly suspended?: SuspendedRun;
}

/** A suspended run, as plain JSON for another process. */
export interface SuspendedRun {
  readonly state: string;
  /** The calls that the framework reports as waiting. */
  readonly callIds: readonly string[];
}

/** Why a framework cannot do something. The table in docs/framework-approvals.md contains it. */
export interface Unsupported {
  readonly unsupported: string;
}

export interface Framework {
  /** The adapter, as in `context.runtime` of a request. */
  readonly name: string;
  /** The module in `support/frameworks`, without `.ts`. Default: the name. */
  readonly file?: string;
  run(turn: Turn, mode: Mode): Promise<Outcome>;
  /** Why {@link Framework.run} has no mode `stream`. */
  readonly streaming?: Unsupported;
  readonly suspension: Suspension | Unsupported;
}

export interface Suspension {
  /** Runs until the model stops or a call waits. */
  run(turn: Turn, mode: Mode): Promise<Outcome>;
  /** Continues a run in the process that calls it. */
  resume(turn: Turn, suspended: SuspendedRun, mode: Mode): Promise<Outcome>;
  /** Why a run cannot be suspended again after one of its calls was decided. */
  readonly partialResume?: Unsupported;
}

/** The options of the adapters. */
export function settingsOf(turn: Turn) {
  const { approvals, runId, only, except, timeout, onNotRun } = turn;
  return {
    approvals,
    runId,
    ...(only && { only }),
    ...(except && { except }),
    ...(timeout && { timeout }),
    ...(onNotRun && { onNotRun }),
  };
}

export function lookOf({ look = () => "seen" }: Turn): (input: Payment) => string {
  return look;
}
