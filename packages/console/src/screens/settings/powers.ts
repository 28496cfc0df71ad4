/** What is offered to whom. The server decides; a page that offered more would only be refused. */

import { session } from "../../session.ts";

/** Changing people, tokens and channels of the project. */
export function mayManagePeople(): boolean {
  return ["admin", "operator"].includes(session.value?.project?.role ?? "");
}
