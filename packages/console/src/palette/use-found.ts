/** Requests that match the typed text, by full-text search. */

import type { FoundRequest } from "@countersign/review-api";
import { useEffect, useState } from "preact/hooks";
import { api } from "../api.ts";

/** Pause in typing before the server searches. */
const PAUSE_MS = 200;

const SHOWN = "5";

/** Shorter texts match too much. */
const CHARS_MIN = 2;
const CHARS_MAX = 199;

/** A newer text aborts the search for the previous one. A failed search finds nothing. */
export function useFound(typed: string): readonly FoundRequest[] {
  const [found, setFound] = useState<readonly FoundRequest[]>([]);
  const text = typed.trim();
  useEffect(() => {
    setFound([]);
    if (text.length < CHARS_MIN || text.length > CHARS_MAX) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const query = { q: searchFor(text), limit: SHOWN };
      api.call("GET /search", { query, signal: stop.signal }).then(
        ({ requests }) => !stop.signal.aborted && setFound(requests),
        () => {},
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  return found;
}

/** The last word may still be incomplete. */
export function searchFor(text: string): string {
  return /[\p{L}\p{N}]$/u.test(text) ? `${text}*` : text;
}
