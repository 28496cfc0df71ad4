/** How a reviewer gets from one request to the next. */

import { useEffect, useRef } from "preact/hooks";
import { preferences } from "../../preferences.ts";
import { goBackTo } from "../../route.ts";
import { now } from "../../time.ts";
import type { Flow } from "../request/flow.ts";
import type { InboxAddress } from "./address.ts";
import { changeAddress } from "./navigate.ts";
import { neighbourOf, requestAfter } from "./next-request.ts";
import type { Shown } from "./use-shown.ts";

export function useFlow(address: InboxAddress, shown: Shown): Flow {
  const { open } = address;
  const order = useRef<readonly string[]>([]);
  const ids = shown.all.flatMap(({ requests }) => requests.map(({ id }) => id));
  // A decided request leaves the list; its place in it is still known.
  if (ids.includes(open)) order.current = ids;
  const requests = shown.mine.flatMap((group) => group.requests);
  const next = requestAfter(open, order.current, requests, now.peek());
  const openNext = () => {
    if (next !== undefined) changeAddress({ open: next.id });
  };
  return {
    next,
    openNext,
    onDecided() {
      if (preferences.peek().after_decision === "next") openNext();
    },
    move(by) {
      const current = shown.all.find((group) => group.requests.some(({ id }) => id === open));
      const to = neighbourOf(shown.all, current?.key, by);
      if (to !== undefined) changeAddress({ open: to.first.id });
    },
    back: () => goBackTo("/inbox"),
  };
}

/** On a wide window the most urgent request is open, so that one key decides it. */
export function useFirstOpened(isWide: boolean, address: InboxAddress, { mine }: Shown): void {
  const first = mine.find(({ first: { held } }) => held === undefined)?.first.id;
  const isDue = isWide && address.open === "" && address.picked.size === 0 && first !== undefined;
  useEffect(() => {
    if (isDue) changeAddress({ open: address.at || first });
  }, [isDue, address, first]);
}
