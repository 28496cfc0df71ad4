/**
 * The current draft: kept in the tab, so that a reload or another screen loses
 * nothing, and checked by the server a moment after each pause in the typing.
 */

import type { PolicyCheck, PolicyPath, ShownPolicy } from "@countersign/review-api";
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../../parts/button.tsx";
import { checkDraft, sourceOf } from "./policy-api.ts";

export interface Draft {
  readonly source: string;
  /** The version that it began from. */
  readonly base: number;
}

/** Template of a first policy. */
export const EMPTY_POLICY = `version: 1
# A call that matches no rule needs a person. The order of rules does not matter:
# deny overrides ask, and ask overrides approve.
rules:
  - id: look-ups
    match: { tool: orders.get }
    then: approve
tests:
  - name: looking up an order
    given: { tool: orders.get, args: { id: A-1 } }
    expect: { then: approve, because: look-ups }
  - name: everything else
    given: { tool: orders.cancel, args: { id: A-1 } }
    expect: { then: ask, because: no-match }
`;

/** Drafts of this tab by where they belong. */
const KEY = "countersign.drafts";
const drafts = signal<Readonly<Record<string, Draft>>>(stored());

function stored(): Readonly<Record<string, Draft>> {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

/** @param place the project and the scope */
export function draftOf(place: string, active: ShownPolicy): Draft {
  return drafts.value[place] ?? { source: sourceOf(active) ?? EMPTY_POLICY, base: active.number };
}

export function isChanged(place: string): boolean {
  return drafts.value[place] !== undefined;
}

/** @param draft undefined deletes the draft: the active version without changes */
export function keepDraft(place: string, draft: Draft | undefined): void {
  const { [place]: _, ...others } = drafts.value;
  drafts.value = draft === undefined ? others : { ...others, [place]: draft };
  try {
    sessionStorage.setItem(KEY, JSON.stringify(drafts.value));
  } catch {
    // A browser that keeps nothing still has it until the tab is closed.
  }
}

export interface Checked {
  /** Of exactly this source. */
  readonly source: string;
  readonly check?: PolicyCheck;
  /** Why the server could not say. */
  readonly fault?: string;
}

const PAUSE_MS = 300;

/** The server's check of a source; undefined while it is pending or when it is not permitted. */
export function useCheck(
  scope: PolicyPath,
  source: string,
  isAllowed: boolean,
): Checked | undefined {
  const [checked, setChecked] = useState<Checked>();
  useEffect(() => {
    if (!isAllowed) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      checkDraft(scope, source, stop.signal).then(
        (check) => setChecked({ source, check }),
        (error) => !stop.signal.aborted && setChecked({ source, fault: messageOf(error) }),
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [scope, source, isAllowed]);
  return checked;
}
