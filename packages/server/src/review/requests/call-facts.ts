/**
 * The line and the signals of requests. A call never changes, so they are computed once for each
 * version of the policy while they are cached.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type Call,
  type CallLine,
  lineOf,
  type Signal,
  signalsOf,
  templateLine,
} from "@countersign/review-api/calls";
import { callOfRequest } from "../../core/call-of-request.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { ActiveRenderers } from "../../operations/policy/findRenderers.ts";
import { findTemplates } from "../../policy/renderers.ts";
import type { Renderer } from "../../policy/rule.ts";
import { RecentlyUsed } from "../../recently-used.ts";

export interface CallFacts {
  readonly line: CallLine | undefined;
  readonly signals: readonly Signal[];
}

const CACHED_MAX = 2_000;

/** Arguments that are analyzed before other work of the server gets its turn. */
const TURN_CHARS = 64_000;

export const UNKNOWN: CallFacts = { line: undefined, signals: signalsOf(undefined) };

export class CallFactsCache {
  readonly #known = new RecentlyUsed<string, CallFacts>(CACHED_MAX);

  /** In the order of the requests. */
  async of(
    requests: readonly StoredRequest[],
    { sha256 = "", renderers }: ActiveRenderers,
  ): Promise<readonly CallFacts[]> {
    const all: CallFacts[] = [];
    let chars = 0;
    for (const request of requests) {
      let facts = this.#known.get(request.id + sha256);
      if (facts === undefined) {
        facts = factsOf(request, renderers);
        this.#known.set(request.id + sha256, facts);
        chars += request.arguments.length;
      }
      all.push(facts);
      if (chars <= TURN_CHARS) continue;
      chars = 0;
      await nextTurn();
    }
    return all;
  }
}

/** A failure is the signal `unchecked`, and the exact arguments stay visible. */
function factsOf(request: StoredRequest, renderers: readonly Renderer[]): CallFacts {
  try {
    const call = callOfRequest(request);
    if (call === undefined) return UNKNOWN;
    const custom = findTemplates(renderers, call).map(
      (template) => (one: Call) => templateLine(template, one),
    );
    return { line: lineOf(call, custom), signals: signalsOf(call) };
  } catch {
    return UNKNOWN;
  }
}
