/**
 * Runs a gated call once and returns its saved result later. Some frameworks repeat a whole step
 * when they resume it, including calls that have run already.
 *
 * Promises: a result is returned only for the same key, tool and arguments; a call that started and
 * has no saved result does not run again.
 */

import { readKey } from "./approval-client.ts";
import type { Countersign } from "./countersign.ts";
import {
  callOf,
  type FrameworkOptions,
  type FrameworkResult,
  type Proposal,
  runConverted,
  unlessInvalid,
} from "./framework-call.ts";
import { snapshot } from "./snapshot.ts";

/** Turns results of a framework into text and back. */
export interface ResultCodec {
  /** @returns undefined for a result that cannot be restored unchanged */
  write(result: unknown): Promise<string | undefined>;
  read(text: string): Promise<unknown>;
}

/** The call that a saved result belongs to. */
interface SavedCall {
  readonly tool: string;
  /** JSON, as submitted. */
  readonly arguments: string;
}

/** A step that the framework may repeat. */
export interface RepeatedStep {
  /** Path of the step, with `|` between the step of a tool and those of its sub-agent. */
  readonly step: string;
  readonly codec: ResultCodec;
}

interface RunningCall {
  readonly step: string;
  readonly outcome: Promise<FrameworkResult<unknown>>;
}

/** By key, tool and arguments. */
type Running = Map<string, RunningCall>;

/** A step may be resumed while a call of its previous run is still running. */
const runningByApprovals = new WeakMap<Countersign, Running>();

/** Like `runCall`, but a call that ran before returns its saved result. */
export async function runCallOnce<CallOrigin>(
  settings: FrameworkOptions<CallOrigin>,
  proposal: Proposal,
  origin: CallOrigin,
  run: (approved: unknown) => unknown,
  { step, codec }: RepeatedStep,
): Promise<FrameworkResult<unknown>> {
  const { approvals } = settings;
  const converted = callOf(settings, proposal, origin);
  const { idempotencyKey: key, tool, arguments: args } = converted;
  const source = await unlessInvalid(() => {
    readKey(key);
    return snapshot(args, "arguments").json.source;
  });
  // The submission rejects the call with the reason.
  if (source === undefined) return runConverted(settings, proposal, converted, run);
  const running: Running = runningByApprovals.get(approvals) ?? new Map();
  runningByApprovals.set(approvals, running);
  const call = { tool, arguments: source };
  const id = JSON.stringify([key, tool, source]);
  const start = async (): Promise<FrameworkResult<unknown>> => {
    const saved = await loadResult(approvals, key, call);
    if (saved !== undefined) return { ran: true, value: await codec.read(saved) };
    const outcome = await runConverted(settings, proposal, converted, run);
    if (!outcome.ran) return outcome;
    const result = await codec.write(outcome.value).catch(() => undefined);
    await approvals.saveResult(key, result && JSON.stringify({ ...call, result }));
    return outcome;
  };
  const started = running.get(id) ?? { step, outcome: start().finally(() => running.delete(id)) };
  running.set(id, started);
  const outcome = await started.outcome;
  // The framework drops the rest of the step when this call suspends it.
  if (!outcome.ran && outcome.notRun.notRun === "pending") await othersOf(step, running);
  return outcome;
}

/**
 * Resolves when the calls of the same step have settled, and those of its sub-agents. The tool that
 * runs a sub-agent is in a step above: it waits for this call, so this call must not wait for it.
 */
async function othersOf(step: string, running: Running): Promise<void> {
  const others = [...running.values()].filter((other) => `${other.step}|`.startsWith(`${step}|`));
  await Promise.allSettled(others.map(({ outcome }) => outcome));
}

/** @returns undefined also for a result of another call under the same key */
async function loadResult(
  approvals: Countersign,
  key: string,
  call: SavedCall,
): Promise<string | undefined> {
  const text = await approvals.loadResult(key);
  if (text === undefined) return undefined;
  const saved = JSON.parse(text) as SavedCall & { readonly result: string };
  const isSame = saved.tool === call.tool && saved.arguments === call.arguments;
  return isSame ? saved.result : undefined;
}
