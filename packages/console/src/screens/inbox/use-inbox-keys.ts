/** The keys of the list. None of them decides anything. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../../language/t.ts";
import { hasInteracted } from "../../parts/interaction.ts";
import { useKeys } from "../../parts/keys.tsx";
import type { RequestGroup } from "./groups.ts";
import { neighbourOf } from "./next-request.ts";

export interface InboxKeys {
  readonly scope: { readonly current: HTMLElement | null };
  readonly filter: { readonly current: HTMLInputElement | null };
  /** Whether the open request is beside the list: it has keys of its own. */
  readonly isBesideRequest: boolean;
  groups(): readonly RequestGroup[];
  /** Key of the current row. */
  current(): string | undefined;
  /** Whether no row has just moved. */
  isSettled(): boolean;
  moveTo(group: RequestGroup): void;
  pick(group: RequestGroup): void;
  /** Selects everything up to this row. */
  pickTo(group: RequestGroup): void;
  /** Selects all rows, or clears the selection when all are selected. */
  pickAll(): void;
  clear(): void;
}

function linkOf(scope: HTMLElement | null, key: string | undefined): HTMLElement | undefined {
  if (scope === null || key === undefined) return undefined;
  const row = scope.querySelector(`[data-key="${CSS.escape(key)}"]`);
  return row?.querySelector<HTMLElement>(".row-link") ?? undefined;
}

function focusRow(link: HTMLElement | undefined): void {
  link?.focus({ preventScroll: true });
  link?.closest(".row")?.scrollIntoView({ block: "nearest" });
}

export function useInboxKeys(keys: InboxKeys): void {
  const { scope } = keys;
  /** The position of the current row, when it was removed. */
  const place = useRef(0);
  const opened = useRef(keys);

  function group(): RequestGroup | undefined {
    return keys.groups().find(({ key }) => key === keys.current());
  }

  /** The row above or below; where the current one was removed, the one in its place. */
  function neighbour(by: number): RequestGroup | undefined {
    const groups = keys.groups();
    const isThere = groups.some(({ key }) => key === keys.current());
    const to = isThere ? neighbourOf(groups, keys.current(), by) : groups[place.current];
    return to ?? group();
  }

  function focusOn(to: RequestGroup): void {
    place.current = keys.groups().findIndex(({ key }) => key === to.key);
    // It may not be drawn yet.
    requestAnimationFrame(() => focusRow(linkOf(scope.current, to.key)));
  }

  function move(by: number): void {
    const to = neighbour(by);
    if (to === undefined) return;
    keys.moveTo(to);
    focusOn(to);
  }

  function extend(by: number): void {
    const to = neighbour(by);
    if (to === undefined) return;
    keys.pickTo(to);
    focusOn(to);
  }

  function toFilter(): void {
    keys.filter.current?.focus();
    keys.filter.current?.select();
  }

  // Coming back from a request selects its row again, before the heading gets the focus.
  useLayoutEffect(() => {
    const { scope, current } = opened.current;
    if (!hasInteracted() || document.activeElement !== document.body) return;
    const link = linkOf(scope.current, current());
    if (link !== undefined) focusRow(link);
    else document.querySelector<HTMLElement>("#main h1")?.focus({ preventScroll: true });
  }, []);

  useKeys([
    { key: "j", does: t`Next row`, repeats: true, press: () => move(1) },
    { key: "k", does: t`Previous row`, repeats: true, press: () => move(-1) },
    {
      key: "Enter",
      does: keys.isBesideRequest ? t`Read the open request` : t`Open the row`,
      press() {
        const link = linkOf(scope.current, keys.current());
        if (keys.isBesideRequest) document.getElementById("tool")?.focus();
        else if (keys.isSettled()) link?.click();
      },
    },
    {
      key: "x",
      does: t`Select or deselect the row`,
      press() {
        const on = group();
        if (on !== undefined && keys.isSettled()) keys.pick(on);
      },
    },
    { key: "J", does: t`Select down to the next row`, repeats: true, press: () => extend(1) },
    { key: "K", does: t`Select up to the previous row`, repeats: true, press: () => extend(-1) },
    { key: "X", does: t`Select all rows, or none`, press: () => keys.pickAll() },
    { key: "/", does: t`Filter`, press: toFilter },
    {
      key: "Escape",
      does: t`Clear the selection, or return to the row`,
      press() {
        keys.clear();
        focusRow(linkOf(scope.current, keys.current()));
      },
    },
  ]);
}
