/** The selected rows, which are in the address, and the unfolded groups. */

import { useMemo, useRef, useState } from "preact/hooks";
import { isDecidable } from "../../live/pending-request.ts";
import { addPicked, togglePicked } from "./address.ts";
import { changeAddress, currentAddress } from "./navigate.ts";
import { rangeOf } from "./next-request.ts";
import type { RowActions } from "./row.tsx";
import type { Shown } from "./use-shown.ts";

export interface SelectionOptions {
  readonly shown: Shown;
  readonly current: string | undefined;
}

export function useSelection(options: SelectionOptions) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const latest = useRef(options);
  latest.current = options;
  /** Key of the group that was selected last: a range starts there. */
  const from = useRef<string | undefined>(undefined);
  const actions = useMemo<RowActions>(
    () => ({
      pick(requests) {
        const { shown } = latest.current;
        const ids = new Set(requests.map(({ id }) => id));
        from.current = shown.all.find(({ first }) => ids.has(first.id))?.key;
        changeAddress({ picked: togglePicked(currentAddress().picked, requests) });
      },
      pickTo(key) {
        const { shown, current } = latest.current;
        const range = rangeOf(shown.all, from.current ?? current, key);
        from.current ??= current ?? key;
        const requests = range.flatMap((group) => group.requests).filter(isDecidable);
        changeAddress({ picked: addPicked(currentAddress().picked, requests) });
      },
      pickAll() {
        const { shown } = latest.current;
        const requests = shown.all.flatMap((group) => group.requests).filter(isDecidable);
        changeAddress({ picked: togglePicked(currentAddress().picked, requests) });
      },
      unfold: (key) => setUnfolded((before) => toggled(before, key)),
    }),
    [],
  );
  return { actions, unfolded, pickTo: actions.pickTo };
}

function toggled(keys: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const after = new Set(keys);
  if (!after.delete(key)) after.add(key);
  return after;
}
