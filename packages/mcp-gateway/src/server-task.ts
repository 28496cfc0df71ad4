/**
 * Calls of tools that their server runs only as a task of its own. The gateway requests the task,
 * and waits for its result.
 */

import { type JsonObject, parseJson } from "@countersign/protocol";
import type { ListedTool } from "./definitions.ts";
import { exact, objectIn, type Reply, textIn, withMembers } from "./exact-message.ts";
import type { McpServer } from "./server.ts";

export interface ApprovedCall {
  readonly params: JsonObject | undefined;
  readonly listed: ListedTool;
  /** The approved text. */
  readonly arguments: string;
  readonly cancelled: AbortSignal;
}

/** Sends the call once. @throws PeerGone; the reason of the signal */
export async function sendCall(
  server: McpServer,
  { params, listed, arguments: approved, cancelled }: ApprovedCall,
): Promise<Reply<JsonObject>> {
  const needsTask = textIn(objectIn(listed.definition, "execution"), "taskSupport") === "required";
  const sent = withMembers(params, {
    name: JSON.stringify(listed.name),
    arguments: approved,
    task: needsTask ? "{}" : undefined,
  });
  const headers = server.paramHeaders(listed, parseJson(approved) as JsonObject);
  const reply = await server.requestNow("tools/call", sent, { signal: cancelled, headers });
  const task = needsTask ? textIn(objectIn(reply.value, "task"), "taskId") : undefined;
  if (task === undefined) return reply;
  const named = exact({ taskId: task });
  const cancel = () => {
    server.requestNow("tasks/cancel", named, {}).catch(() => {});
  };
  cancelled.addEventListener("abort", cancel, { once: true });
  try {
    return await server.requestNow("tasks/result", named, { signal: cancelled });
  } finally {
    cancelled.removeEventListener("abort", cancel);
  }
}
