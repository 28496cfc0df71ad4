/** Announces new requests to screen readers: together, and only those to decide. */

import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../language/t.ts";
import { mine } from "../../live/live.ts";

/** Calls that arrive together are announced together. */
const GATHER_MS = 500;

/**
 * @param ids of the requests that have arrived
 * @returns the sentence; empty while there is no new request
 */
export function useNews(ids: readonly string[]): string {
  const [text, setText] = useState("");
  const announced = useRef(ids);
  useEffect(() => {
    if (ids === announced.current) return;
    const timer = setTimeout(() => {
      const before = new Set(announced.current);
      announced.current = ids;
      const news = mine.peek().filter(({ id }) => ids.includes(id) && !before.has(id));
      if (news.length > 0) {
        setText(t`New: ${news.length}. ${mine.peek().length} in total need your decision.`);
      }
    }, GATHER_MS);
    return () => clearTimeout(timer);
  }, [ids]);
  return text;
}
