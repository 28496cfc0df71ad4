/**
 * Single keys that act on the open request. A key that was meant for something else must not
 * decide: what is typed in a field or held down counts for nothing (see parts/keys.tsx), and
 * neither does what is pressed while the page has just changed under the eyes.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { type KeyBinding, useKeys } from "../../parts/keys.tsx";

/** The keys do not work before this time, so that the reviewer has seen the content. */
const SETTLE_MS = 300;

export interface DecidingKey {
  readonly key: string;
  readonly does: string;
  /** Undefined while it does nothing. */
  readonly act: (() => void) | undefined;
}

export interface KeyOptions {
  readonly keys: readonly DecidingKey[];
  /** Identifier of the bound request: a change resets the keys. */
  readonly boundTo: string;
  /** The visible content; when its size changes, it has moved. */
  readonly box: { readonly current: HTMLElement | null };
}

/** @returns whether the content has been in place for a moment, so that presses act */
export function useDecidingKeys({ keys, boundTo, box }: KeyOptions): boolean {
  const settled = useSettled(boundTo, box);
  useKeys(
    keys.map(
      ({ key, does, act }): KeyBinding => ({
        key,
        does,
        press(event) {
          if (settled.bound.current === boundTo && event.timeStamp >= settled.at.current) act?.();
        },
      }),
    ),
  );
  return settled.is;
}

function useSettled(boundTo: string, box: KeyOptions["box"]) {
  const [is, setIs] = useState(false);
  /** Against a key's own time stamp: the page may have been busy when it was pressed. */
  const at = useRef(Number.POSITIVE_INFINITY);
  const bound = useRef("");
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const unsettle = () => {
      at.current = Number.POSITIVE_INFINITY;
      setIs(false);
      clearTimeout(timer);
      timer = setTimeout(() => {
        at.current = performance.now();
        bound.current = boundTo;
        setIs(true);
      }, SETTLE_MS);
    };
    unsettle();
    const observer = new ResizeObserver(unsettle);
    if (box.current !== null) observer.observe(box.current);
    return () => {
      observer.disconnect();
      clearTimeout(timer);
      at.current = Number.POSITIVE_INFINITY;
    };
  }, [boundTo, box]);
  return { is, at, bound };
}
