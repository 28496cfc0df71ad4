/** What has come, told to those who listen: together, and only what is theirs to decide. */

import { useEffect, useRef, useState } from "preact/hooks";
import { mine } from "../../live/live.ts";
import { arrivals } from "../../live/pending-list.ts";

/** Calls that come together are told together. */
const GATHER_MS = 500;

/** The sentence; empty while there are no news. */
export function useNews(): string {
  const [text, setText] = useState("");
  const told = useRef(arrivals.peek());
  const ids = arrivals.value;
  useEffect(() => {
    if (ids === told.current) return;
    const timer = setTimeout(() => {
      const before = new Set(told.current);
      told.current = ids;
      const news = mine.peek().filter(({ id }) => ids.includes(id) && !before.has(id));
      if (news.length > 0) {
        setText(`New: ${news.length}. In all ${mine.peek().length} for you to decide.`);
      }
    }, GATHER_MS);
    return () => clearTimeout(timer);
  }, [ids]);
  return text;
}
