/**
 * A `tools/call`, from the client's request to the tool's answer: submitted, held, and sent to the
 * server once, with the arguments that were approved, or not at all.
 *
 * Promises: nothing reaches the server without an approval of this call, recorded as used; every
 * failure on the way is an answer that says that the tool did not run.
 */

import { randomUUID } from "node:crypto";
import { JsonObject, Problem, parseJson } from "@countersign/protocol";
import { type Countersign, SdkError } from "@countersign/sdk";
import { NotSent } from "./channel.ts";
import { askedAs } from "./config.ts";
import type { ListedTool } from "./definitions.ts";
import {
  CODE,
  errorOf,
  objectIn,
  type Reply,
  sourceOf,
  toolError,
  withMembers,
} from "./exact-message.ts";
import { type IncomingRequest, PeerGone } from "./peer.ts";
import { explain, type Report } from "./report.ts";
import type { McpServer } from "./server.ts";
import { sendCall } from "./server-task.ts";
import { type RememberedTool, type ToolMemory, ToolMemoryError } from "./tool-memory.ts";

export interface CallOrder {
  readonly request: IncomingRequest;
  readonly server: McpServer;
  /** As the server calls it. */
  readonly tool: string;
  /** Undefined if the transport has no sessions: calls of several clients are not one session. */
  readonly session: string | undefined;
  /** Undefined if the gateway has authenticated no user. */
  readonly user: string | undefined;
  /** The client's own description, from `initialize`. */
  readonly client: JsonObject | undefined;
  /** Called when the call was approved and starts. */
  readonly started?: (() => void) | undefined;
}

export interface CallContext {
  readonly approvals: Countersign;
  readonly memory: ToolMemory;
  readonly report: Report;
  readonly progressMs: number;
  /** Sends the client a notification about its request. */
  notify(method: string, params: { readonly source: string }, about: string): Promise<void>;
}

/** Before the first progress: policy alone answers a call sooner. */
const FIRST_PROGRESS_MS = 1_000;

const CHANGED =
  "The definition of this tool changed while the call waited, so it was not run. The " +
  "approved tool may differ from the tool that would run. Read its definition again.";

const REPLACED =
  "Another definition of this tool was approved while the call waited, so it was not run. " +
  "Call the tool again.";

const MEMORY_FAILED =
  "The gateway cannot use its record of the definition of this tool, so it was not run. " +
  "Notify the operator.";

const TOO_LARGE =
  "The definition of this tool changed and is too large for a review, so it was not run. " +
  "Notify the operator.";

/** Characters of a definition. Two of them and the arguments are one request to the provider. */
const REVIEWED_CHARS_MAX = 65_536;

const ENDED = "The server of this tool ended while the call waited, so it was not run.";

export async function runGatedCall(order: CallOrder, context: CallContext): Promise<Reply> {
  const { server, tool } = order;
  let listed: ListedTool | undefined;
  try {
    listed = await server.tool(tool);
  } catch (error) {
    context.report("call_refused", { server: server.name, tool, reason: explain(error) });
    return toolError("The server of this tool is not available, so it was not run.");
  }
  if (listed === undefined) return errorOf(CODE.invalidParams, "There is no tool with this name.");
  const pinned = server.config.pins?.get(tool);
  if (server.config.pins !== undefined && pinned !== listed.digest) {
    context.report("call_refused", { server: server.name, tool, reason: "differs from its pin" });
    return toolError(
      "The definition of this tool differs from its pin, so it was not run. Notify the operator.",
    );
  }
  const stop = startProgress(order, context);
  try {
    return await askAndCall(order, listed, context, stop);
  } catch (error) {
    return failed(error, order, context);
  } finally {
    stop();
  }
}

/** @param started the client hears from the tool itself from now on */
async function askAndCall(
  order: CallOrder,
  listed: ListedTool,
  context: CallContext,
  started: () => void,
): Promise<Reply> {
  const { request, server, tool } = order;
  const { params, cancelled, disconnected } = request;
  const args = params?.members.get("arguments");
  if (args !== undefined && !(args instanceof JsonObject)) {
    return errorOf(CODE.invalidParams, "arguments must be an object.");
  }
  // Pins replace the memory: the operator reviews the definitions.
  const isRemembered = server.config.pins === undefined;
  const before = isRemembered ? await context.memory.read(server.name, tool) : undefined;
  const change = before?.digest === listed.digest ? undefined : before;
  if (change !== undefined && [change, listed].some(isTooLarge)) {
    const reason = "the changed definition is too large";
    context.report("call_refused", { server: server.name, tool, reason });
    return toolError(TOO_LARGE);
  }
  const result = await context.approvals.run(
    {
      // Each call is asked about by itself, whatever was decided about another.
      idempotencyKey: `mcp-gateway ${randomUUID()}`,
      ...askedAs(server.config, tool),
      // Letter for letter as the client wrote them.
      arguments: args ?? (parseJson("{}") as JsonObject),
      context: contextOf(order, listed, change),
      signal: AbortSignal.any([cancelled, disconnected]),
      traceparent: traceOf(params),
    },
    async (approved) => {
      if (isRemembered && !(await context.memory.remember(server.name, listed, before))) {
        return toolError(REPLACED);
      }
      if (server.opening === undefined) return toolError(ENDED);
      if (server.toolNow(tool)?.digest !== listed.digest) return toolError(CHANGED);
      started();
      order.started?.();
      // The approved text; the gateway does not read the client's text again.
      return sendCall(server, { params, listed, arguments: approved.source, cancelled });
    },
  );
  if (result.status === "executed") return result.value;
  const { reason, requestId, messageForModel } = result;
  const error = result.status === "pending" ? undefined : result.error;
  context.report("call_held_back", {
    server: server.name,
    tool,
    verdict: reason,
    request_id: requestId,
    ...(error !== undefined && { reason: explain(error) }),
  });
  return toolError(messageForModel);
}

/** The context that the reviewer and policy receive besides the arguments. */
function contextOf(
  order: CallOrder,
  listed: ListedTool,
  before: RememberedTool | undefined,
): JsonObject {
  const { request, server, tool, session, user, client } = order;
  const members: Record<string, string | undefined> = {
    runtime: JSON.stringify("mcp-gateway"),
    user: user && JSON.stringify(user),
    session_id: session && JSON.stringify(session),
    call_id: request.id,
    server: JSON.stringify(server.name),
    server_tool: JSON.stringify(tool),
    tool_definition: JSON.stringify(listed.digest),
    tool_definition_change: before && JSON.stringify({ before: before.text, after: listed.text }),
    client: client && withMembers(undefined, identityOf(client)).source,
    params: paramsBesides(request.params),
  };
  return parseJson(withMembers(undefined, members).source) as JsonObject;
}

function isTooLarge({ text }: RememberedTool): boolean {
  return text.length > REVIEWED_CHARS_MAX;
}

function identityOf(client: JsonObject): Record<string, string> {
  const named = ["name", "version"].map((key) => [key, client.members.get(key)] as const);
  const texts = named.filter(([, value]) => typeof value === "string");
  return Object.fromEntries(texts.map(([key, value]) => [key, JSON.stringify(value)]));
}

/** Everything else that goes to the server with the call, so that nothing goes unseen. */
function paramsBesides(params: JsonObject | undefined): string | undefined {
  const meta = objectIn(params, "_meta");
  const rest = meta && withMembers(meta, { progressToken: undefined });
  const besides = withMembers(params, {
    name: undefined,
    arguments: undefined,
    ...(rest !== undefined && { _meta: rest.source === "{}" ? undefined : rest.source }),
  });
  return besides.source === "{}" ? undefined : besides.source;
}

/**
 * The trace of the client. The SDK checks its form.
 *
 * @see MCP specification, `_meta`, key `traceparent`
 */
function traceOf(params: JsonObject | undefined): string | undefined {
  const traceparent = objectIn(params, "_meta")?.members.get("traceparent");
  return typeof traceparent === "string" ? traceparent : undefined;
}

/** @returns ends them */
function startProgress({ request, tool }: CallOrder, context: CallContext): () => void {
  const token = objectIn(request.params, "_meta")?.members.get("progressToken");
  if (token === undefined) return () => {};
  let count = 0;
  let timer: NodeJS.Timeout;
  const notify = () => {
    // It must grow, and stay below whatever the tool itself will say.
    const progress = ++count / 1e9;
    const params = withMembers(undefined, {
      progressToken: sourceOf(token),
      progress: String(progress),
      message: JSON.stringify(`${tool} waits for approval`),
    });
    context.notify("notifications/progress", params, request.id).catch(() => {});
    timer = setTimeout(notify, context.progressMs).unref();
  };
  timer = setTimeout(notify, Math.min(FIRST_PROGRESS_MS, context.progressMs)).unref();
  return () => clearTimeout(timer);
}

function failed(error: unknown, order: CallOrder, context: CallContext): Reply {
  const { server, tool, request } = order;
  if (request.cancelled.aborted) throw error;
  context.report("call_failed", { server: server.name, tool, reason: explain(error) });
  if (error instanceof ToolMemoryError) return toolError(MEMORY_FAILED);
  if (error instanceof PeerGone && error.cause instanceof NotSent) {
    return toolError("The gateway has no access to the server of this tool, so it was not run.");
  }
  if (error instanceof PeerGone) {
    const message = "The server of this tool ended before it answered. The tool may have run.";
    return toolError(`${message} Check its effects before calling it again.`);
  }
  if (error instanceof SdkError || error instanceof Problem) {
    return toolError("This call cannot be submitted for approval, so it was not run.");
  }
  throw error;
}
