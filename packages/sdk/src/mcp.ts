/**
 * Gates the tools of an MCP server: every call waits for its approval. The adapter submits
 * the validated arguments, as the tool's callback receives them.
 *
 * Supports version 1 (`@modelcontextprotocol/sdk`) and version 2 (`@modelcontextprotocol/server`)
 * of the MCP SDK. Imports neither: a program installs one of them. The types here match both.
 *
 * Clients time out a call after about one minute. A client that requests progress receives progress
 * notifications while the call waits, which extend its timeout.
 */

import { type Duration, readDuration } from "./duration.ts";
import { SdkError } from "./errors.ts";
import {
  cannotGate,
  type FrameworkOptions,
  readSelection,
  runCall,
  unknownNamesMessage,
} from "./framework-call.ts";

export { isNotRun, type NotRun } from "./framework-call.ts";

/** A notification about the progress of a call. */
interface ProgressNotification {
  method: "notifications/progress";
  params: { progressToken: string | number; progress: number; message: string };
}

/** The member `_meta` of a call. */
interface RequestMeta {
  readonly progressToken?: string | number | undefined;
}

/** The fields of `RequestHandlerExtra` of version 1 that the adapter reads. */
export interface ExtraOfVersion1 {
  readonly sessionId?: string | undefined;
  readonly requestId: string | number;
  readonly signal: AbortSignal;
  readonly _meta?: RequestMeta | undefined;
  sendNotification(notification: ProgressNotification): Promise<void>;
}

/** The fields of `ServerContext` of version 2 that the adapter reads. */
export interface ExtraOfVersion2 {
  readonly sessionId?: string | undefined;
  readonly mcpReq: {
    readonly id: string | number;
    readonly method: string;
    readonly signal: AbortSignal;
    readonly _meta?: RequestMeta | undefined;
    readonly inputResponses?: Readonly<Record<string, unknown>> | undefined;
    /** Returns a text that is not verified, or the value of the server's own check. */
    requestState(): unknown;
    notify(notification: ProgressNotification): Promise<void>;
  };
}

/** The second argument of a request handler of the MCP SDK. */
export type Extra = ExtraOfVersion1 | ExtraOfVersion2;

/** The framework's information about a call. */
export interface ToolCallOrigin<E extends Extra = Extra> {
  /** Name of the tool. */
  readonly toolName: string;
  /** `RequestHandlerExtra` of version 1, `ServerContext` of version 2. */
  readonly extra: E;
}

/** Options of this adapter. */
export interface McpOptions<E extends Extra = Extra>
  extends Omit<FrameworkOptions<ToolCallOrigin<E>>, "runId"> {
  /** Id of the run. Default: the transport's session id, or else a random id for this server. */
  readonly runId?: FrameworkOptions<ToolCallOrigin<E>>["runId"] | undefined;
  /**
   * Id of the call. Default: the JSON-RPC request id, or a random id for a transport without
   * sessions. A client that repeats a call with `inputResponses` needs a new id.
   */
  readonly callId?: ((origin: ToolCallOrigin<E>) => string) | undefined;
  /** Interval of progress notifications while a call waits. Default: `10s`. */
  readonly progressInterval?: Duration | undefined;
}

/** The members of `McpServer` that the adapter uses, in version 1 and version 2. */
export interface GateableServer<E extends Extra> {
  registerTool(name: string, config: never, callback: never): object;
  readonly server: {
    assertCanSetRequestHandler(method: string): void;
    setRequestHandler(...args: never): void;
    fallbackRequestHandler?: ((request: never, extra: E) => Promise<object>) | undefined;
  };
}

/** The fields of a `tools/call` request that the adapter reads. */
export interface ToolCallRequest {
  readonly params: { readonly name: string; readonly arguments?: object | undefined };
}

/** The result of a call that did not run. */
export type Refusal = { content: { type: "text"; text: string }[]; isError: true };

const PROGRESS_MS = 10_000;
const TOOLS_CALL = "tools/call";

type Handler = (request: unknown, extra: Extra) => unknown;
/** Receives arguments only if the tool has a schema. */
type Callback = (...args: unknown[]) => unknown;
type Register = (name: string, ...rest: unknown[]) => RegisteredTool;

interface RegisteredTool {
  update(updates: { readonly name?: string | null; readonly callback?: Callback }): void;
}

/** Members that have other types in each version, or exist in one version only. */
interface Internals {
  registerTool: Register;
  /** Version 1. */
  tool?: Register;
  /** Version 1. */
  readonly experimental?: { readonly tasks?: { registerToolTask: Register } };
  readonly server: {
    setRequestHandler(...args: unknown[]): void;
    fallbackRequestHandler?: Handler | undefined;
  };
}

/** The current name of a tool. A server can rename tools. */
interface Label {
  name: string;
  /** A new name can add the gate. It cannot remove it. */
  isGated: boolean;
}

interface Gating {
  readonly isSelected: (name: string) => boolean;
  /** The names of the tools so far. */
  readonly registered: Set<string>;
  /** Returns the reason why no tool without a gate may run; undefined if there is none. */
  readonly unknownNames: () => string | undefined;
  readonly gate: (label: Label, callback: Callback) => Callback;
}

/** The handlers that {@link gateToolCalls} returned. */
const gatedHandlers = new WeakSet<object>();

/**
 * Gates every tool that the server registers later. Call it before the first registration.
 * Afterwards it rejects selected tools of tasks, assigned handlers and other handlers of
 * `tools/call`.
 *
 * @throws SdkError `invalid_option` for a server that already handles `tools/call`, and for an
 *   object that is not an `McpServer`
 */
export function gateServer<E extends Extra>(
  server: GateableServer<E>,
  settings: McpOptions<E>,
): void {
  assertGateable(server);
  const registered = new Set<string>();
  const unknownNames = () => unknownNamesMessage(settings, registered);
  const gating: Gating = {
    isSelected: readSelection(settings),
    registered,
    unknownNames,
    gate: gaterOf(settings, unknownNames),
  };
  const internals = server as object as Internals;
  const register = rejectOtherHandlers(internals.server, settings);
  for (const method of ["registerTool", "tool"] as const) {
    const original = internals[method]?.bind(server);
    if (original === undefined) continue;
    // The overloads differ, but all start with the name and end with the callback.
    internals[method] = (name, ...rest) => {
      const label = { name, isGated: gating.isSelected(name) };
      registered.add(name);
      const callback = gating.gate(label, rest.at(-1) as Callback);
      const tool = register(() => original(name, ...rest.slice(0, -1), callback));
      return gateUpdates(label, tool, gating);
    };
  }
  rejectSelectedTasks(internals, register, gating);
}

/** Uses public methods only: a private field can be renamed by a patch release. */
function assertGateable(args: GateableServer<never>): void {
  const { registerTool, server } = args as Partial<typeof args>;
  const methods = [registerTool, server?.assertCanSetRequestHandler, server?.setRequestHandler];
  if (!methods.every((method) => typeof method === "function")) {
    throw new SdkError(
      "invalid_option",
      "gateServer cannot gate this object. It supports McpServer of @modelcontextprotocol/sdk " +
        "1.32 or later and of @modelcontextprotocol/server 2. For a low-level Server, wrap the " +
        "handler of tools/call with gateToolCalls.",
    );
  }
  try {
    args.server.assertCanSetRequestHandler(TOOLS_CALL);
  } catch (cause) {
    // The server sets this handler for its first tool, or for the capability.
    const message =
      "The server already handles tools/call. Call gateServer before the first registerTool, and " +
      "omit capabilities.tools in the options of McpServer: the first tool declares it.";
    throw new SdkError("invalid_option", message, { cause });
  }
}

/**
 * The server's own handler of `tools/call` calls the gated tools. Refuses calls that reach any
 * other handler, because they would run without an approval.
 *
 * @returns a function that runs a registration, in which the server may set its own handler
 */
function rejectOtherHandlers(
  server: Internals["server"],
  settings: Pick<McpOptions, "approvals">,
): <T>(run: () => T) => T {
  let isRegistering = false;
  const guard = (handler: Handler): Handler => {
    if (gatedHandlers.has(handler)) return handler;
    return (request, extra) => {
      if (methodOf(request, extra) !== TOOLS_CALL) return handler(request, extra);
      const text =
        "The call did not run, because the server has a handler of tools/call that is not gated. " +
        "Wrap the handler with gateToolCalls.";
      return refuse(text, settings);
    };
  };
  const original = server.setRequestHandler.bind(server);
  server.setRequestHandler = (...args) => {
    const handler = args.at(-1);
    const isForeign = !isRegistering && typeof handler === "function";
    original(...args.slice(0, -1), isForeign ? guard(handler as Handler) : handler);
  };
  let fallback = server.fallbackRequestHandler;
  Object.defineProperty(server, "fallbackRequestHandler", {
    configurable: true,
    enumerable: true,
    get: () => fallback && guard(fallback),
    set: (handler: Handler | undefined) => {
      fallback = handler;
    },
  });
  return (run) => {
    isRegistering = true;
    try {
      return run();
    } finally {
      isRegistering = false;
    }
  };
}

function methodOf(request: unknown, extra: Extra): unknown {
  // In version 2, a handler with its own schema receives only the parameters.
  if ("mcpReq" in extra) return extra.mcpReq.method;
  return (request as { readonly method?: unknown }).method;
}

function gateUpdates(
  label: Label,
  tool: RegisteredTool,
  { gate, isSelected, registered }: Gating,
): RegisteredTool {
  let isUpdating = false;
  const update = tool.update.bind(tool);
  tool.update = (updates) => {
    const { callback, name } = updates;
    isUpdating = true;
    try {
      update(callback === undefined ? updates : { ...updates, callback: gate(label, callback) });
    } finally {
      isUpdating = false;
    }
    if (!name) return;
    registered.add(name);
    label.name = name;
    label.isGated ||= isSelected(name);
  };
  // Version 1 calls `handler`, version 2 calls `executor`.
  for (const field of ["handler", "executor"]) {
    let value: unknown = Reflect.get(tool, field);
    if (value === undefined) continue;
    Object.defineProperty(tool, field, {
      configurable: true,
      enumerable: true,
      get: () => value,
      set: (assigned: unknown) => {
        if (!isUpdating) {
          throw cannotGate(label.name, `its ${field} was assigned. Use update({ callback }).`);
        }
        value = assigned;
      },
    });
  }
  return tool;
}

/** The handler of a tool of tasks. Only `createTask` starts the tool. */
interface TaskHandler {
  createTask(...args: unknown[]): unknown;
  getTask(...args: unknown[]): unknown;
  getTaskResult(...args: unknown[]): unknown;
}

/** Version 1 can register tools of tasks, which have several callbacks. */
function rejectSelectedTasks(
  { experimental }: Internals,
  register: <T>(run: () => T) => T,
  { isSelected, registered, unknownNames }: Gating,
): void {
  const tasks = experimental?.tasks;
  if (tasks === undefined) return;
  const assertUnselected = (name: string) => {
    if (isSelected(name)) {
      throw cannotGate(name, "gateServer does not support tasks. Name the tool in except.");
    }
  };
  const original = tasks.registerToolTask.bind(tasks);
  tasks.registerToolTask = (name, ...rest) => {
    assertUnselected(name);
    registered.add(name);
    const handler = rest.at(-1) as TaskHandler;
    const createTask: TaskHandler["createTask"] = (...args) => {
      const unknown = unknownNames();
      if (unknown !== undefined) throw new SdkError("invalid_option", unknown);
      return handler.createTask(...args);
    };
    // A copy of the handler would lose the methods of its class.
    const checked: TaskHandler = {
      createTask,
      getTask: (...args) => handler.getTask(...args),
      getTaskResult: (...args) => handler.getTaskResult(...args),
    };
    const tool = register(() => original(name, ...rest.slice(0, -1), checked));
    const update = tool.update.bind(tool);
    tool.update = (updates) => {
      if (updates.name) assertUnselected(updates.name);
      update(updates);
    };
    return tool;
  };
}

/**
 * Gates the `tools/call` handler of a low-level `Server`. It validates nothing: it submits the
 * client's arguments. It does not know the tools, so check the spelling of `only` and `except`.
 */
export function gateToolCalls<R extends ToolCallRequest, E extends Extra, T>(
  handler: (request: R, extra: E) => T | Promise<T>,
  settings: McpOptions<E>,
): (request: R, extra: E) => Promise<T | Refusal> {
  const ask = askerOf(settings);
  const isSelected = readSelection(settings);
  const gated = async (request: R, extra: E) => {
    const { name, arguments: args } = request.params;
    if (!isSelected(name)) return handler(request, extra);
    return ask(name, args, extra, (approved) => {
      const params = { ...request.params, arguments: approved };
      return handler({ ...request, params }, extra);
    });
  };
  gatedHandlers.add(gated);
  return gated;
}

function gaterOf<E extends Extra>(
  settings: McpOptions<E>,
  unknownNames: Gating["unknownNames"],
): Gating["gate"] {
  const ask = askerOf(settings);
  return (label, callback) => {
    return (...args) => {
      if (!label.isGated) {
        const unknown = unknownNames();
        return unknown === undefined ? callback(...args) : refuse(unknown, settings);
      }
      const extra = args.at(-1) as E;
      const input = args.length > 1 ? args[0] : undefined;
      return ask(label.name, input, extra, (approved) => {
        return args.length > 1 ? callback(approved, extra) : callback(extra);
      });
    };
  };
}

function refuse(text: string, { approvals }: Pick<McpOptions, "approvals">): Refusal {
  approvals.warn(text);
  return refusalOf(text);
}

function refusalOf(text: string): Refusal {
  return { content: [{ type: "text", text }], isError: true };
}

function askerOf<E extends Extra>(settings: McpOptions<E>) {
  const lifetime = crypto.randomUUID();
  const { callId = ({ extra }) => idOfRequest(extra) } = settings;
  const progressMs = readDuration("progressInterval", settings.progressInterval, PROGRESS_MS);
  const runId = settings.runId ?? (({ extra }) => extra.sessionId ?? lifetime);
  const countRound = roundCounter();
  return async <T>(
    toolName: string,
    input: unknown,
    extra: E,
    run: (approved: unknown) => T | Promise<T>,
  ): Promise<T | Refusal> => {
    const origin = { toolName, extra };
    const { signal } = factsOf(extra);
    const round = countRound(signal);
    const proposal = {
      runtime: "mcp",
      tool: toolName,
      callId: round === 1 ? callId(origin) : `${callId(origin)}#${round}`,
      arguments: input,
      signal,
      mustWait: true,
      context: inputOf(extra),
    };
    const endProgress = startProgress(extra, progressMs);
    try {
      const outcome = await runCall({ ...settings, runId }, proposal, origin, (approved) => {
        // The tool reports its own progress after it starts.
        endProgress();
        return run(approved);
      });
      return outcome.ran ? outcome.value : refusalOf(outcome.notRun.message);
    } finally {
      endProgress();
    }
  };
}

/**
 * For clients of older protocol revisions, version 2 runs a tool that returns `inputRequired` again
 * in the same request, with the responses of the client. Each round is a call of its own.
 */
function roundCounter(): (request: AbortSignal) => number {
  const rounds = new WeakMap<AbortSignal, number>();
  return (request) => {
    const round = (rounds.get(request) ?? 0) + 1;
    rounds.set(request, round);
    return round;
  };
}

/** In version 2, a client can send input to a tool besides the arguments. */
function inputOf(extra: Extra): object | undefined {
  if (!("mcpReq" in extra)) return undefined;
  const { inputResponses, requestState } = extra.mcpReq;
  const state = requestState();
  const input: Record<string, unknown> = {};
  if (inputResponses !== undefined) input.input_responses = inputResponses;
  if (typeof state === "string") input.request_state = state;
  return input;
}

/** Without a session, the next client of the server uses the same ids again. */
function idOfRequest(extra: Extra): string {
  if (extra.sessionId === undefined) return crypto.randomUUID();
  return JSON.stringify(factsOf(extra).requestId);
}

function factsOf(extra: Extra) {
  if ("mcpReq" in extra) {
    const { id, signal, _meta } = extra.mcpReq;
    const notify = (notification: ProgressNotification) => extra.mcpReq.notify(notification);
    return { requestId: id, signal, progressToken: _meta?.progressToken, notify };
  }
  const { requestId, signal, _meta } = extra;
  const notify = (notification: ProgressNotification) => extra.sendNotification(notification);
  return { requestId, signal, progressToken: _meta?.progressToken, notify };
}

/** @returns a function that stops the notifications */
function startProgress(extra: Extra, everyMs: number): () => void {
  const { progressToken, notify } = factsOf(extra);
  if (progressToken === undefined) return () => {};
  let notices = 0;
  const timer = setInterval(() => {
    // Below 1, because progress must increase and the tool itself may start at 1.
    const progress = 1 - 1 / (++notices + 1);
    const params = { progressToken, progress, message: "waiting for approval" };
    notify({ method: "notifications/progress", params }).catch(() => {});
  }, everyMs);
  return () => clearInterval(timer);
}
