/** Loads data when a screen opens, and again on demand. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Loaded<T> {
  /** The last answer; kept while a newer one is on its way. */
  readonly value: T | undefined;
  /** Why there is no newer answer. */
  readonly error: Error | undefined;
  reload(): void;
}

/**
 * @param load is aborted when the screen closes or `key` changes
 * @param key of what is loaded: another one begins anew
 */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, key: string): Loaded<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: Error }>({ key });
  const latest = useRef(load);
  latest.current = load;
  const start = useRef(() => {});
  useEffect(() => {
    let stop = new AbortController();
    start.current = () => {
      stop.abort();
      stop = new AbortController();
      const { signal } = stop;
      latest.current(signal).then(
        (value) => !signal.aborted && setState({ key, value }),
        (error: Error) =>
          !signal.aborted &&
          setState((before) => ({ ...(before.key === key ? before : { key }), error })),
      );
    };
    start.current();
    return () => {
      stop.abort();
      start.current = () => {};
    };
  }, [key]);
  const reload = useCallback(() => start.current(), []);
  const { value, error } = state.key === key ? state : {};
  return { value, error, reload };
}
