import type { ReviewedRequest } from "@countersign/review-api";
import { useLayoutEffect } from "preact/hooks";
import { rememberAddress } from "../../live/request-address.ts";

/** A page that was opened by a whole id shows the address of the request afterwards. */
export function useAddress(request: ReviewedRequest | undefined): void {
  const id = request?.id;
  const address = request && rememberAddress(request);
  useLayoutEffect(() => {
    if (id === undefined || address === undefined || address === id) return;
    history.replaceState(history.state, "", location.href.replace(id, address));
  }, [id, address]);
}
