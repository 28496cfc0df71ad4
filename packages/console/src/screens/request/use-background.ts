/** What helps to decide: earlier calls of the same tool, and what has happened to this one. */

import { useEffect, useRef } from "preact/hooks";
import { callSource } from "../../api.ts";
import { memberSource } from "../../exact/source.ts";
import { useLoaded } from "../../parts/use-loaded.ts";
import type { WireBackground, WireRequest } from "../../requests/wire.ts";

export interface Background extends WireBackground {
  /** Of the last call that was approved, letter for letter. */
  readonly lastArguments: string | undefined;
}

export interface LoadedBackground {
  readonly background: Background | undefined;
  /** Whether it is still on its way for the first time. */
  readonly isLoading: boolean;
  readonly hasFailed: boolean;
}

/** Read when the page opens, and again when something has happened to the request. */
export function useBackground(id: string, request: WireRequest | undefined): LoadedBackground {
  const load = async (signal: AbortSignal): Promise<Background> => {
    const path = `requests/${encodeURIComponent(id)}/background`;
    return readBackground(await callSource("GET", path, { signal, isBackground: true }));
  };
  const { value, error, reload } = useLoaded(load, id);
  const state = request && JSON.stringify([request.status, request.votes, request.held]);
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

function readBackground(source: string): Background {
  const background = JSON.parse(source) as WireBackground;
  const last =
    background.last_approved === null ? undefined : memberSource(source, "last_approved");
  const lastArguments = last === undefined ? undefined : memberSource(last, "arguments");
  return { ...background, lastArguments };
}
