/**
 * Single keys that act on the open request. A key that was meant for something else must not
 * decide: what is typed in a field, held down, or pressed while the page has just changed under
 * the eyes counts for nothing.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { keysOn } from "../../preferences.ts";

/** After which what stands there has been seen. */
const SETTLE_MS = 300;

export interface KeyOptions {
  /** By the key's letter; undefined while it does nothing. */
  readonly keys: Readonly<Record<string, (() => void) | undefined>>;
  /** What the keys are bound to: another one begins anew. */
  readonly boundTo: string;
  /** What somebody looks at; when its size changes, it has moved. */
  readonly box: { readonly current: HTMLElement | null };
}

/** @returns whether keys act now */
export function useDecidingKeys({ keys, boundTo, box }: KeyOptions): boolean {
  const [isSettled, setSettled] = useState(false);
  /** Of a key's own time stamp: the page may have been busy when it was pressed. */
  const settledAt = useRef(Number.POSITIVE_INFINITY);
  const current = useRef({ keys, boundTo });
  current.current = { keys, boundTo };

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const unsettle = () => {
      settledAt.current = Number.POSITIVE_INFINITY;
      setSettled(false);
      clearTimeout(timer);
      timer = setTimeout(() => {
        settledAt.current = performance.now();
        setSettled(true);
      }, SETTLE_MS);
    };
    unsettle();
    const observer = new ResizeObserver(unsettle);
    if (box.current !== null) observer.observe(box.current);
    return () => {
      observer.disconnect();
      clearTimeout(timer);
      settledAt.current = Number.POSITIVE_INFINITY;
    };
  }, [boundTo]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const act = current.current.keys[event.key];
      if (act === undefined || !keysOn.value || current.current.boundTo !== boundTo) return;
      if (event.defaultPrevented || event.repeat || event.isComposing) return;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (isField(event.target) || document.querySelector("dialog[open]") !== null) return;
      if (event.timeStamp < settledAt.current) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [boundTo]);
  return isSettled && keysOn.value;
}

function isField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input, textarea, select"))
  );
}
