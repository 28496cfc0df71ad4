/** Counts the calls of the past by rule and by tool, and lists the names that rules can use. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { POLICY_USAGE } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type Judgement, readJudgement, UNJUDGED } from "../../policy/judgement.ts";
import type { KnownGroups } from "../../policy/rule.ts";
import { readToolName, type ToolName } from "../../policy/tool-names.ts";
import { fieldsOf } from "../../steps/policy/fieldsOf.ts";
import { readKnownGroups } from "../../steps/policy/readKnownGroups.ts";
import {
  firstIdAt,
  type HistoryRange,
  type JudgedOutline,
  listArguments,
  listJudged,
} from "../../storage/sql/history/request-history.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import type { Reader } from "../../storage/store.ts";

export interface RuleUsage {
  /** A baseline rule is `floor/ID`. */
  readonly id: string;
  /** Calls for which it fired. */
  readonly fired: number;
  /** Calls with its result. */
  readonly decided: number;
}

export interface ToolUsage extends ToolName {
  readonly calls: number;
  /** Paths of members of the arguments. */
  readonly fields: readonly (readonly string[])[];
}

export interface PolicyUsage {
  /** Epoch ms. */
  readonly since: number;
  readonly calls: number;
  /** True when there are older calls since then. */
  readonly isLimited: boolean;
  readonly rules: readonly RuleUsage[];
  readonly tools: readonly ToolUsage[];
  readonly instances: readonly string[];
  readonly groups: KnownGroups;
}

const PAGE = 250;
/** Calls with arguments that are read, the latest. */
const ARGUMENTS = { limit: 250, bytesMax: 8_192 };
const TOOLS_MAX = 200;
const INSTANCES_MAX = 200;
const FIELDS_MAX = 100;
/** Rules of earlier versions count as well, and a project can publish any number of versions. */
const RULES_MAX = 2_000;

/** @throws Problem `forbidden` */
export async function showPolicyUsage(
  context: Context,
  caller: ReviewerCaller,
): Promise<PolicyUsage> {
  assertMay(caller, "read");
  const { store, clock } = context;
  const { projectId } = caller;
  const now = clock.now();
  const since = now - POLICY_USAGE.periodMs;
  const range = { projectId, since, beforeId: firstIdAt(now + 1) };
  const counts = await countCalls(store, range);
  for (const call of await listArguments(store, range, ARGUMENTS)) {
    if (call.arguments !== null) counts.addFields(call, call.arguments);
  }
  const instances = await readInstances(store, projectId, counts.instanceIds());
  return {
    since,
    calls: counts.calls,
    isLimited: counts.isLimited,
    rules: counts.rules(),
    tools: counts.tools(),
    instances: [...instances.values()].map(({ name }) => JSON.parse(name) as string).sort(),
    groups: await readKnownGroups(store, projectId),
  };
}

/** The latest first. Other exchanges are served between the pages. */
async function countCalls(reader: Reader, range: HistoryRange): Promise<UsageCounts> {
  const counts = new UsageCounts();
  let { beforeId } = range;
  for (;;) {
    const room = POLICY_USAGE.callsMax - counts.calls;
    const page = await listJudged(reader, { ...range, beforeId }, Math.min(PAGE, room + 1));
    for (const call of page.slice(0, room)) counts.add(call);
    const last = page.at(-1);
    counts.isLimited = page.length > room;
    if (last === undefined || counts.isLimited) return counts;
    beforeId = last.id;
    await nextTurn();
  }
}

interface ToolCount extends ToolName {
  calls: number;
  /** By the path as JSON. */
  readonly fields: Map<string, readonly string[]>;
}

/** A damaged row counts as one without rules. */
function judgementIn(policy: string | null): Judgement {
  try {
    return readJudgement(policy);
  } catch {
    return UNJUDGED;
  }
}

class UsageCounts {
  calls = 0;
  isLimited = false;
  readonly #rules = new Map<string, { fired: number; decided: number }>();
  readonly #tools = new Map<string, ToolCount>();
  readonly #instanceIds = new Set<string>();

  add(call: JudgedOutline): void {
    this.calls++;
    if (this.#instanceIds.size < INSTANCES_MAX) this.#instanceIds.add(call.instanceId);
    const tool = this.#toolOf(call);
    if (tool !== undefined) tool.calls++;
    const { fired, because } = judgementIn(call.policy);
    for (const id of fired) {
      const known = this.#rules.get(id) ?? { fired: 0, decided: 0 };
      known.fired++;
      if (id === because) known.decided++;
      if (this.#rules.has(id) || this.#rules.size < RULES_MAX) this.#rules.set(id, known);
    }
  }

  addFields(call: Pick<JudgedOutline, "tool" | "server">, source: string): void {
    const fields = this.#toolOf(call)?.fields;
    if (fields === undefined) return;
    for (const path of fieldsOf(source)) {
      if (fields.size < FIELDS_MAX) fields.set(JSON.stringify(path), path);
    }
  }

  /** Undefined for a new tool beyond the limit. */
  #toolOf(call: Pick<JudgedOutline, "tool" | "server">): ToolCount | undefined {
    const key = `${call.tool} ${call.server}`;
    const known = this.#tools.get(key);
    if (known !== undefined || this.#tools.size >= TOOLS_MAX) return known;
    const tool = { ...readToolName(call), calls: 0, fields: new Map() };
    this.#tools.set(key, tool);
    return tool;
  }

  instanceIds(): readonly string[] {
    return [...this.#instanceIds];
  }

  rules(): readonly RuleUsage[] {
    const rules = [...this.#rules].map(([id, counts]) => ({ id, ...counts }));
    return rules.sort((a, b) => b.fired - a.fired || (a.id < b.id ? -1 : 1));
  }

  tools(): readonly ToolUsage[] {
    const tools = [...this.#tools.values()].sort((a, b) => b.calls - a.calls);
    return tools.map(({ fields, ...tool }) => ({ ...tool, fields: [...fields.values()] }));
  }
}
