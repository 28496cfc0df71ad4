/** Clicks in the list open a request or select a range. */

import { changeAddress, currentAddress, openAddress } from "./navigate.ts";

export interface RowClick {
  readonly isWide: boolean;
  isSettled(): boolean;
  pickTo(key: string): void;
}

export function openRow(event: MouseEvent, { isWide, isSettled, pickTo }: RowClick): void {
  const target = event.target instanceof Element ? event.target : null;
  const row = target?.closest<HTMLElement>(".row");
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
  const { key = "", id = "" } = row.dataset;
  // A row that has just moved is not what was aimed at.
  if (event.detail > 0 && !isSettled()) event.preventDefault();
  else if (event.shiftKey && target?.closest(".pick")) {
    event.preventDefault();
    pickTo(key);
  } else if (target?.closest(".row-link")) {
    event.preventDefault();
    if (event.shiftKey) pickTo(key);
    else if (currentAddress().open === id) document.getElementById("tool")?.focus();
    else {
      // Back leads to this row.
      if (!isWide) changeAddress({ at: id });
      openAddress(id);
    }
  }
}
