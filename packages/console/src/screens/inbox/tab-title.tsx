import { useEffect } from "preact/hooks";
import { t } from "../../language/t.ts";
import { mine } from "../../live/live.ts";

/**
 * The number of requests to decide, in the title of the tab.
 *
 * @param isShown false while an open request has the title
 */
export function TabTitle({ isShown }: { readonly isShown: boolean }) {
  const count = mine.value.length;
  useEffect(() => {
    if (isShown) document.title = `${count > 0 ? `(${count}) ` : ""}${t`Inbox`} · Countersign`;
  }, [count, isShown]);
  return null;
}
