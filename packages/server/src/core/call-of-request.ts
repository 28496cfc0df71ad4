/** The call of a stored request, as its line and its signals read it. */

import { type Call, cwdOf, readArguments } from "@countersign/review-api/calls";
import type { StoredRequest } from "./request.ts";

/** @returns undefined for arguments that are too long to analyze */
export function callOfRequest({
  tool,
  server,
  arguments: source,
  context,
}: Pick<StoredRequest, "tool" | "server" | "arguments" | "context">): Call | undefined {
  const args = readArguments(source);
  if (args === undefined) return undefined;
  return {
    tool: JSON.parse(tool) as string,
    server: server === null ? undefined : (JSON.parse(server) as string),
    args,
    cwd: context === null ? undefined : cwdOf(readArguments(context)),
  };
}
