/** Reads and changes the address of the inbox. */

import { addressOfId, idOfAddress } from "../../live/request-address.ts";
import { go, route } from "../../route.ts";
import { type InboxAddress, readAddress, writeAddress } from "./address.ts";

export function currentAddress(): InboxAddress {
  const { path, query } = route.peek();
  const rest = path.split("/")[2] ?? "";
  return readAddress(idOfAddress(rest) ?? rest, query);
}

/** Changes parts of the address, without a new entry of the browser's history. */
export function changeAddress(part: Partial<InboxAddress>): void {
  go(writeAddress({ ...currentAddress(), ...part }, addressOfId), { replace: true });
}

/** Opens a request, so that Back leads to the page before. */
export function openAddress(open: string): void {
  go(writeAddress({ ...currentAddress(), open }, addressOfId));
}
