/** Puts a text into the clipboard, also where the page was not opened over TLS. */

import { Refusal } from "../../api.ts";
import { t } from "../../language/t.ts";

/** @throws Refusal when the browser does not let it */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text);
      return;
    } catch {
      // Not allowed: the older way may be.
    }
  }
  const put = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", put, { once: true });
  const isDone = document.execCommand("copy");
  document.removeEventListener("copy", put);
  if (!isDone) throw new Refusal(400, { message: t`This browser does not let the page copy.` });
}
