import { setImmediate as nextTurn } from "node:timers/promises";
import type { Context } from "../../context.ts";
import type { JsonText, StoredRequest } from "../../core/request.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { assertMayPublish, type PolicyScope } from "../../identity/policy-authority.ts";
import { evaluatePolicies, historyQueriesOf } from "../../policy/evaluate.ts";
import type { CallHistory } from "../../policy/history.ts";
import { initialRequirementOf, type Judgement, readJudgement } from "../../policy/judgement.ts";
import { differingParts, type RequirementPart } from "../../policy/requirement.ts";
import type { Evaluation, Verb } from "../../policy/rule.ts";
import { readToolName } from "../../policy/tool-names.ts";
import { countHistory } from "../../steps/policy/countHistory.ts";
import { loadDraft, type PolicyPair } from "../../steps/policy/loadDraft.ts";
import { type InstanceOutline, toPastCall } from "../../steps/policy/readPastRequests.ts";
import {
  countCreated,
  firstIdAt,
  listCreated,
  type RequestOutline,
} from "../../storage/sql/history/request-history.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import { readRequests } from "../../storage/sql/requests/requests.ts";
import type { Reader } from "../../storage/store.ts";

export interface SimulationOrder {
  readonly scope: PolicyScope;
  /** Source of the draft. */
  readonly source: string;
  /** Start and end of the creation times of replayed requests, epoch ms; the end is exclusive. */
  readonly since: number;
  readonly until: number;
  /** Only requests of this instance. */
  readonly instanceId: string | undefined;
  /** Maximum replayed requests, latest first. */
  readonly limit: number;
  /** Maximum reported requests for each kind of change. All are counted. */
  readonly examples: number;
}

/** A call with another result under the draft. */
export interface ChangedRequest {
  readonly request: StoredRequest;
  /** JSON text. */
  readonly instanceName: JsonText;
  readonly was: Verb;
  readonly draft: Evaluation;
  /** Parts of the requirement that differ when both results are `ask`; else empty. */
  readonly differs: readonly RequirementPart[];
}

/** `ask->approve` and the like. */
export type ChangeKind = `${Verb}->${Verb}`;

export interface SimulationSummary {
  readonly replayed: number;
  readonly unchanged: number;
  readonly changes: Readonly<Partial<Record<ChangeKind, number>>>;
  /** Both results are `ask`, but the requirement differs. */
  readonly requirementChanged: number;
  /** Damaged requests, which cannot be evaluated. */
  readonly unreadable: number;
  /** Some of their ids. */
  readonly unreadableIds: readonly string[];
  /** Calls with an error in a rule of the draft or of the other policy. */
  readonly errors: number;
  /** `all`: all matching requests were replayed; `limit`, `time`: older ones exist. */
  readonly ended: "all" | "limit" | "time";
}

export type SimulationEvent =
  | {
      readonly kind: "started";
      readonly since: number;
      readonly until: number;
      /** Number of requests to replay, if known in advance. */
      readonly total: number | undefined;
      /** Numbers of the active versions; 0: none. */
      readonly floorNumber: number;
      readonly projectNumber: number;
    }
  | { readonly kind: "progress"; readonly replayed: number; readonly reached: number }
  | { readonly kind: "changed"; readonly change: ChangedRequest }
  | { readonly kind: "ended"; readonly summary: SimulationSummary };

/** Receives the events of a simulation. */
export interface SimulationSink {
  /** Resolves when the next event can be sent. */
  emit(event: SimulationEvent): Promise<void>;
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

const PAGE = 50;
const PAGE_BYTES_MAX = 1024 * 1024;
/** Maximum time for which other exchanges wait, in addition to the current evaluation. */
const SLICE_MS = 2;
/** An exchange takes several event loop iterations. None of them should wait for a slice. */
const TURNS = 4;
/** Maximum reported ids; all are counted. */
const UNREADABLE_IDS_MAX = 100;
/** Requests between two reports of progress. */
const PROGRESS_EVERY = 500;
/** A draft that takes 50 ms for each call would take an hour and a half. */
const SIMULATION_MS_MAX = 5 * 60_000;

/**
 * Evaluates a draft for past calls, latest first, and reports where its verdict or requirement
 * differs from the policy at that time. The draft is evaluated as if it were active now: with the
 * active baseline policy (or, for a baseline draft, with the project's active policy) and the
 * current groups of instances, but at the time of the call and with the history until then.
 * Decisions of grants, freezes and reviewers are ignored. Writes nothing. Other exchanges are
 * served in between.
 *
 * @throws Problem `forbidden`, `policy_invalid` before the first event; the reason of the signal
 */
export async function simulatePolicy(
  context: Context,
  caller: ReviewerCaller,
  order: SimulationOrder,
  sink: SimulationSink,
): Promise<void> {
  assertMayPublish(caller, order.scope);
  // Its events contain calls.
  assertMay(caller, "read");
  const { store } = context;
  const policies = await loadDraft(context, caller, order.scope, order.source);
  const { since, until, instanceId, limit } = order;
  const stretch = { projectId: caller.projectId, since, beforeId: firstIdAt(until) };
  const total = instanceId === undefined ? await countCreated(store, stretch, limit) : undefined;
  const { floorNumber, projectNumber } = policies;
  await sink.emit({ kind: "started", since, until, total, floorNumber, projectNumber });
  const summary = await new Simulation(context, order, sink, policies).run(stretch.projectId);
  await sink.emit({ kind: "ended", summary });
}

class Simulation {
  readonly #context: Context;
  readonly #order: SimulationOrder;
  readonly #sink: SimulationSink;
  readonly #policies: PolicyPair;
  readonly #instances = new Map<string, InstanceOutline>();
  readonly #changes: Partial<Record<ChangeKind, number>> = {};
  #seen = 0;
  #replayed = 0;
  #unchanged = 0;
  #requirementChanged = 0;
  #unreadable = 0;
  readonly #unreadableIds: string[] = [];
  #errors = 0;
  /** By the monotonic clock. */
  #sliceBegan: number;

  constructor(
    context: Context,
    order: SimulationOrder,
    sink: SimulationSink,
    policies: PolicyPair,
  ) {
    this.#context = context;
    this.#order = order;
    this.#sink = sink;
    this.#policies = policies;
    this.#sliceBegan = context.clock.monotonic();
  }

  async run(projectId: string): Promise<SimulationSummary> {
    const { store, clock } = this.#context;
    const { since, until, limit } = this.#order;
    const endsAt = clock.monotonic() + SIMULATION_MS_MAX;
    let beforeId = firstIdAt(until);
    for (;;) {
      const outlines = await listCreated(store, { projectId, since, beforeId }, PAGE);
      const page = fitting(outlines);
      const last = page.at(-1);
      if (last === undefined) return this.#summary("all");
      if (clock.monotonic() >= endsAt) return this.#summary("time");
      const wanted = page.filter(({ instanceId }) => this.#wants(instanceId));
      for (const request of await this.#read(store, projectId, wanted)) {
        if (this.#replayed === limit) return this.#summary("limit");
        if (clock.monotonic() >= endsAt) return this.#summary("time");
        await this.#replay(request);
      }
      await this.#reportProgress(page.length, last.at);
      await this.#pause();
      beforeId = last.id;
    }
  }

  #wants(instanceId: string): boolean {
    return this.#order.instanceId === undefined || this.#order.instanceId === instanceId;
  }

  async #read(
    reader: Reader,
    projectId: string,
    outlines: readonly RequestOutline[],
  ): Promise<readonly StoredRequest[]> {
    const made = new Set(outlines.map(({ instanceId }) => instanceId));
    const unknown = [...made].filter((id) => !this.#instances.has(id));
    for (const [id, { name, groups }] of await readInstances(reader, projectId, unknown)) {
      this.#instances.set(id, { name, groups });
    }
    const ids = outlines.map(({ id }) => id);
    const { requests, damaged } = await readRequests(reader, projectId, ids);
    this.#unreadable += damaged.length;
    const room = UNREADABLE_IDS_MAX - this.#unreadableIds.length;
    this.#unreadableIds.push(...damaged.slice(0, room));
    return requests;
  }

  async #replay(request: StoredRequest): Promise<void> {
    if (this.#context.clock.monotonic() - this.#sliceBegan >= SLICE_MS) await this.#pause();
    this.#sink.signal.throwIfAborted();
    this.#replayed++;
    const judgement = readJudgement(request.policy);
    const was = judgement.verb;
    const instance = this.#instances.get(request.instanceId) ?? UNKNOWN_INSTANCE;
    const history = await this.#count(request);
    const draft = evaluatePolicies(this.#policies, { ...toPastCall(request, instance), history });
    if (draft.errors.length > 0) this.#errors++;
    const differs = was === "ask" && draft.verb === "ask" ? differing(judgement, draft) : [];
    if (draft.verb === was && differs.length === 0) {
      this.#unchanged++;
      return;
    }
    if (this.#countChange(was, draft.verb) > this.#order.examples) return;
    const change = { request, instanceName: instance.name, was, draft, differs };
    await this.#sink.emit({ kind: "changed", change });
  }

  /** @returns the count of this kind */
  #countChange(was: Verb, wouldBe: Verb): number {
    if (was === wouldBe) {
      this.#requirementChanged++;
      return this.#requirementChanged;
    }
    const kind: ChangeKind = `${was}->${wouldBe}`;
    const count = (this.#changes[kind] ?? 0) + 1;
    this.#changes[kind] = count;
    return count;
  }

  /** Uses the actual history, independent of the draft. */
  async #count({
    projectId,
    instanceId,
    tool,
    server,
    createdAt: at,
  }: StoredRequest): Promise<CallHistory> {
    const name = readToolName({ tool, server });
    const queries = historyQueriesOf(this.#policies, name);
    if (queries.length === 0) return NO_HISTORY;
    const { store } = this.#context;
    const call = { projectId, instanceId, name, at, isPast: true };
    return countHistory(store, this.#context, call, queries);
  }

  async #reportProgress(seen: number, reached: number): Promise<void> {
    const before = Math.floor(this.#seen / PROGRESS_EVERY);
    this.#seen += seen;
    if (Math.floor(this.#seen / PROGRESS_EVERY) === before) return;
    await this.#sink.emit({ kind: "progress", replayed: this.#replayed, reached });
  }

  async #pause(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await nextTurn();
    this.#sink.signal.throwIfAborted();
    this.#sliceBegan = this.#context.clock.monotonic();
  }

  #summary(ended: SimulationSummary["ended"]): SimulationSummary {
    return {
      replayed: this.#replayed,
      unchanged: this.#unchanged,
      changes: this.#changes,
      requirementChanged: this.#requirementChanged,
      unreadable: this.#unreadable,
      unreadableIds: this.#unreadableIds,
      errors: this.#errors,
      ended,
    };
  }
}

function differing(judgement: Judgement, draft: Evaluation): readonly RequirementPart[] {
  const { validityMs } = judgement;
  return differingParts({ requirement: initialRequirementOf(judgement), validityMs }, draft);
}

const NO_HISTORY: CallHistory = new Map();

/** Replaces a missing row, which cannot occur while a request refers to it. */
const UNKNOWN_INSTANCE: InstanceOutline = { name: '""', groups: [] };

/** As many as fit into memory, at least one. */
function fitting(outlines: readonly RequestOutline[]): readonly RequestOutline[] {
  let bytes = 0;
  const tooMany = outlines.findIndex((outline) => {
    bytes += outline.bytes;
    return bytes > PAGE_BYTES_MAX;
  });
  return tooMany === -1 ? outlines : outlines.slice(0, Math.max(1, tooMany));
}
