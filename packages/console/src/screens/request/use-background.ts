/** Loads the background of a request: earlier calls of the same tool, and its own events. */

import type { Background, ReviewedRequest } from "@countersign/review-api";
import { exactText } from "@countersign/review-api/exact";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../../api.ts";
import { useLoaded } from "../../parts/use-loaded.ts";

export interface ShownBackground extends Background {
  /** Of the last call that was approved, letter for letter. */
  readonly lastArguments: string | undefined;
}

export interface LoadedBackground {
  readonly background: ShownBackground | undefined;
  /** Whether it is still on its way for the first time. */
  readonly isLoading: boolean;
  readonly hasFailed: boolean;
}

function stateOf({ status, votes, held, requirement }: ReviewedRequest): string {
  return JSON.stringify([status, votes, held, requirement.escalate]);
}

/** Read when the page opens, and again when something has happened to the request. */
export function useBackground(id: string, request: ReviewedRequest | undefined): LoadedBackground {
  const load = async (signal: AbortSignal): Promise<ShownBackground> => {
    const input = { path: { id }, signal, isBackground: true };
    const background = await api.call("GET /requests/{id}/background", input);
    const last = background.last_approved;
    return { ...background, lastArguments: last === null ? undefined : exactText(last.arguments) };
  };
  const { value, error, reload } = useLoaded(load, id);
  const state = request && stateOf(request);
  const before = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (state === undefined) return;
    if (before.current !== undefined && before.current !== state) reload();
    before.current = state;
  }, [state, reload]);
  return {
    background: value,
    isLoading: value === undefined && error === undefined,
    hasFailed: value === undefined && error !== undefined,
  };
}
