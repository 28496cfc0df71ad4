/**
 * Gates the tools of an MCP server: every call waits for its approval. The adapter submits
 * the validated arguments, as the tool's callback receives them.
 *
 * Clients time out a call after about one minute. A client that requests progress receives progress
 * notifications while the call waits, which extend its timeout. Imports only types of the MCP SDK.
 */

import type { McpServer, RegisteredTool } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type {
  CallToolRequest,
  CallToolResult,
  ServerNotification,
  ServerRequest,
} from "@modelcontextprotocol/sdk/types.js";
import { type Duration, readDuration } from "./duration.ts";
import { SdkError } from "./errors.ts";
import {
  type FrameworkOptions,
  readSelection,
  runCall,
  unknownNamesMessage,
} from "./framework-call.ts";

export type { NotRun } from "./framework-call.ts";

/** The second argument of a request handler of the MCP SDK. */
export type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** The framework's information about a call. */
export interface ToolCallOrigin {
  readonly toolName: string;
  readonly extra: Extra;
}

/** Options of this adapter. */
export interface McpOptions extends Omit<FrameworkOptions<ToolCallOrigin>, "runId"> {
  /** Id of the run. Default: the transport's session id, or else a random id for this server. */
  readonly runId?: FrameworkOptions<ToolCallOrigin>["runId"];
  /** Id of the call. Default: the JSON-RPC request id, which is unique in a session. */
  readonly callId?: (origin: ToolCallOrigin) => string;
  /** Interval of progress notifications while a call waits. Default: `10s`. */
  readonly progressInterval?: Duration;
}

const PROGRESS_MS = 10_000;

/**
 * Gates every tool that the server registers later. Call it before the first registration. It does
 * not gate the tools of tasks (`server.experimental.tasks`).
 *
 * @throws SdkError `invalid_option` for a server that has registered tools, and for an object that
 *   is not an `McpServer` of `@modelcontextprotocol/sdk` 1
 */
export function gateServer(server: McpServer, settings: McpOptions): void {
  assertHasNoTools(server);
  const isSelected = readSelection(settings);
  const registered = new Set<string>();
  const gate = gaterOf(settings, registered);
  for (const method of ["registerTool", "tool"] as const) {
    // The overloads differ, but all start with the name and end with the callback.
    const register = server[method].bind(server) as (...args: unknown[]) => RegisteredTool;
    server[method] = ((...args: unknown[]) => {
      const name = String(args[0]);
      const label = { name, isGated: isSelected(name) };
      registered.add(name);
      const tool = register(...args.slice(0, -1), gate(label, args.at(-1) as Callback));
      return gateUpdates(label, tool, { gate, isSelected, registered });
    }) as never;
  }
}

/** Uses public methods only: a private field can be renamed by a patch release. */
function assertHasNoTools(args: McpServer): void {
  const { registerTool, tool, server } = args as Partial<McpServer>;
  const isSupported = [registerTool, tool, server?.assertCanSetRequestHandler].every((method) => {
    return typeof method === "function";
  });
  if (!isSupported) {
    throw new SdkError(
      "invalid_option",
      "gateServer cannot gate this object. It supports McpServer of @modelcontextprotocol/sdk " +
        "1.32 or later, not version 2 (@modelcontextprotocol/server).",
    );
  }
  try {
    // The server sets this handler when its first tool is registered.
    args.server.assertCanSetRequestHandler("tools/call");
  } catch (cause) {
    const message = "The server already has tools. Call gateServer before the first registerTool.";
    throw new SdkError("invalid_option", message, { cause });
  }
}

/** The current name of a tool. A server can rename tools. */
interface Label {
  name: string;
  /** A new name can add the gate. It cannot remove it. */
  isGated: boolean;
}

/** Receives arguments only if the tool has a schema. */
type Callback = (...args: unknown[]) => CallToolResult | Promise<CallToolResult>;
type Gater = (label: Label, callback: Callback) => Callback;

/** The gate of a server. */
interface Registration {
  readonly gate: Gater;
  readonly isSelected: (name: string) => boolean;
  /** The names of the tools so far. */
  readonly registered: Set<string>;
}

function gateUpdates(
  label: Label,
  tool: RegisteredTool,
  { gate, isSelected, registered }: Registration,
): RegisteredTool {
  const update = tool.update.bind(tool) as (updates: object) => void;
  tool.update = ((updates: { readonly name?: string | null; readonly callback?: Callback }) => {
    const { callback } = updates;
    update(callback === undefined ? updates : { ...updates, callback: gate(label, callback) });
    if (!updates.name) return;
    label.name = updates.name;
    registered.add(updates.name);
    label.isGated ||= isSelected(updates.name);
  }) as never;
  return tool;
}

/**
 * Gates the `tools/call` handler of a low-level `Server`. It validates nothing: it submits the
 * client's arguments. It does not know the tools, so check the spelling of `only` and `except`.
 */
export function gateToolCalls(
  handler: (request: CallToolRequest, extra: Extra) => CallToolResult | Promise<CallToolResult>,
  settings: McpOptions,
): (request: CallToolRequest, extra: Extra) => Promise<CallToolResult> {
  const ask = askerOf(settings);
  const isSelected = readSelection(settings);
  return async (request, extra) => {
    const { name, arguments: args } = request.params;
    if (!isSelected(name)) return handler(request, extra);
    return ask(name, args, extra, (approved) => {
      const params = { ...request.params, arguments: approved as Record<string, unknown> };
      return handler({ ...request, params }, extra);
    });
  };
}

/** @param registered the names of the tools so far */
function gaterOf(settings: McpOptions, registered: ReadonlySet<string>): Gater {
  const ask = askerOf(settings);
  return (label, callback) => {
    return (...args) => {
      if (!label.isGated) {
        const unknown = unknownNamesMessage(settings, registered);
        return unknown === undefined ? callback(...args) : refuseUnknown(unknown, settings);
      }
      const extra = args.at(-1) as Extra;
      const input = args.length > 1 ? args[0] : undefined;
      return ask(label.name, input, extra, (approved) => {
        return args.length > 1 ? callback(approved, extra) : callback(extra);
      });
    };
  };
}

/** After a spelling mistake in `only`, a tool would run without an approval. */
function refuseUnknown(text: string, { approvals }: McpOptions): CallToolResult {
  approvals.warn(text);
  return { content: [{ type: "text", text }], isError: true };
}

function askerOf(settings: McpOptions) {
  const lifetime = crypto.randomUUID();
  const { callId = ({ extra }) => JSON.stringify(extra.requestId) } = settings;
  const progressMs = readDuration("progressInterval", settings.progressInterval, PROGRESS_MS);
  const runId = settings.runId ?? (({ extra }) => extra.sessionId ?? lifetime);
  return async (
    toolName: string,
    input: unknown,
    extra: Extra,
    run: (approved: unknown) => CallToolResult | Promise<CallToolResult>,
  ): Promise<CallToolResult> => {
    const origin = { toolName, extra };
    const proposal = {
      runtime: "mcp",
      tool: toolName,
      callId: callId(origin),
      arguments: input,
      signal: extra.signal,
    };
    const endProgress = startProgress(extra, progressMs);
    try {
      const outcome = await runCall({ ...settings, runId }, proposal, origin, (approved) => {
        // The tool reports its own progress after it starts.
        endProgress();
        return run(approved);
      });
      if (outcome.ran) return outcome.value;
      return { content: [{ type: "text", text: outcome.notRun.message }], isError: true };
    } finally {
      endProgress();
    }
  };
}

/** @returns a function that stops the notifications */
function startProgress(extra: Extra, everyMs: number): () => void {
  const progressToken = extra._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let notices = 0;
  const timer = setInterval(() => {
    // Below 1, because progress must increase and the tool itself may start at 1.
    const progress = 1 - 1 / (++notices + 1);
    const params = { progressToken, progress, message: "waiting for approval" };
    extra.sendNotification({ method: "notifications/progress", params }).catch(() => {});
  }, everyMs);
  return () => clearInterval(timer);
}
