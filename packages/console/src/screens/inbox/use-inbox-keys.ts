/** The keys of the inbox. None of them decides anything. */

import { useEffect, useRef } from "preact/hooks";
import { useKeys } from "../../parts/keys.tsx";
import type { RequestGroup } from "./groups.ts";

export interface InboxKeys {
  readonly scope: { readonly current: HTMLElement | null };
  readonly filter: { readonly current: HTMLInputElement | null };
  groups(): readonly RequestGroup[];
  /** Key of the current row. */
  current(): string | undefined;
  /** Whether no row has just moved. */
  isSettled(): boolean;
  moveTo(group: RequestGroup): void;
  pick(group: RequestGroup): void;
  clear(): void;
}

function linkOf(scope: HTMLElement | null, key: string | undefined): HTMLElement | undefined {
  if (scope === null || key === undefined) return undefined;
  const row = scope.querySelector(`[data-key="${CSS.escape(key)}"]`);
  return row?.querySelector<HTMLElement>(".row-link") ?? undefined;
}

export function useInboxKeys(keys: InboxKeys): void {
  const { scope } = keys;
  /** The position of the current row, when it was removed. */
  const place = useRef(0);
  const opened = useRef(keys);

  function group(): RequestGroup | undefined {
    return keys.groups().find(({ key }) => key === keys.current());
  }

  function move(by: number): void {
    const groups = keys.groups();
    const at = groups.findIndex(({ key }) => key === keys.current());
    const wanted = at < 0 ? place.current : at + by;
    place.current = Math.max(0, Math.min(groups.length - 1, wanted));
    const to = groups[place.current];
    if (to === undefined) return;
    keys.moveTo(to);
    // It may not be drawn yet.
    requestAnimationFrame(() => {
      const link = linkOf(scope.current, to.key);
      link?.focus({ preventScroll: true });
      link?.closest(".row")?.scrollIntoView({ block: "nearest" });
    });
  }

  function toFilter(): void {
    keys.filter.current?.focus();
    keys.filter.current?.select();
  }

  // Coming back from a request selects its row again.
  useEffect(() => {
    const { scope, current } = opened.current;
    const link = linkOf(scope.current, current());
    if (document.activeElement !== document.body) return;
    link?.focus({ preventScroll: true });
    link?.closest(".row")?.scrollIntoView({ block: "nearest" });
  }, []);

  useKeys([
    { key: "j", does: "Next row", repeats: true, press: () => move(1) },
    { key: "k", does: "Previous row", repeats: true, press: () => move(-1) },
    {
      key: "Enter",
      does: "Open the row",
      press() {
        const link = linkOf(scope.current, keys.current());
        if (keys.isSettled()) link?.click();
      },
    },
    {
      key: "x",
      does: "Select or deselect the row",
      press() {
        const on = group();
        if (on !== undefined && keys.isSettled()) keys.pick(on);
      },
    },
    { key: "/", does: "Filter", press: toFilter },
    { key: "Escape", does: "Clear the selection", press: () => keys.clear() },
  ]);
}
