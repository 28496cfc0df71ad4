/**
 * Clients with MCP 2026-07-28: one on stdio, or all of them over HTTP. The gateway opens a session
 * with each server at the first request.
 */

import type { JsonObject } from "@countersign/protocol";
import type { CallTasks } from "./call-tasks.ts";
import {
  CODE,
  type Exact,
  errorOf,
  exact,
  objectIn,
  type Reply,
  resultOf,
  sourceOf,
  textIn,
  withMembers,
} from "./exact-message.ts";
import {
  acceptsTasks,
  type Envelope,
  MODERN_VERSION,
  missingTasks,
  modernReply,
  SUBSCRIPTION_ID,
  TASKS_EXTENSION,
  unsupportedVersion,
  withoutEnvelope,
} from "./modern-messages.ts";
import type { IncomingNotification, IncomingRequest } from "./peer.ts";

export interface ModernParts {
  readonly version: string;
  readonly tasks: CallTasks;
  /** Opens the servers, once. @returns the combined result of `initialize` */
  open(client: JsonObject | undefined): Promise<Reply<JsonObject>>;
  /** Answers a request as one of an earlier version. */
  answer(request: IncomingRequest, client: JsonObject | undefined): Promise<Reply>;
  startTask(request: IncomingRequest, client: JsonObject | undefined): Promise<Reply>;
  notify(method: string, params: Exact): Promise<void>;
}

/** Methods of earlier versions, which this version does not have. */
const REMOVED = [
  "initialize",
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
];

/** By member of a subscription: the notification that it selects. */
const LIST_CHANGES: Readonly<Record<string, string>> = {
  toolsListChanged: "notifications/tools/list_changed",
  promptsListChanged: "notifications/prompts/list_changed",
  resourcesListChanged: "notifications/resources/list_changed",
};

export class ModernSession {
  readonly #parts: ModernParts;
  readonly #server: Exact;
  /** By id of the request that opened it: the notifications that a subscription selects. */
  readonly #subscriptions = new Map<string, readonly string[]>();
  #opening: Promise<Reply<JsonObject>> | undefined;

  constructor(parts: ModernParts) {
    this.#parts = parts;
    this.#server = exact({ name: "countersign-mcp-gateway", version: parts.version });
  }

  async answer(request: IncomingRequest, envelope: Envelope): Promise<Reply> {
    const { method } = request;
    if (envelope.version !== MODERN_VERSION) return unsupportedVersion(envelope.version);
    if (envelope.capabilities === undefined) {
      return errorOf(CODE.invalidParams, "The request does not declare the client's capabilities.");
    }
    if (REMOVED.includes(method)) return errorOf(CODE.methodNotFound, `No method ${method}.`);
    const opened = await this.#open(envelope.client);
    if (opened.outcome === "error") return opened;
    const reply = await this.#dispatch(withoutEnvelope(request), envelope, opened.value);
    return modernReply(method, reply, this.#server);
  }

  /** Forwards a notification if the client may receive it. */
  async relay({ method, params }: IncomingNotification): Promise<void> {
    if (method === "notifications/progress" && params !== undefined) {
      return this.#parts.notify(method, params);
    }
    for (const [id, selected] of this.#subscriptions) {
      if (!selected.includes(method)) continue;
      const meta = withMembers(objectIn(params, "_meta"), { [SUBSCRIPTION_ID]: id });
      await this.#parts.notify(method, withMembers(params, { _meta: meta.source }));
    }
  }

  async #open(client: JsonObject | undefined): Promise<Reply<JsonObject>> {
    this.#opening ??= this.#parts.open(client);
    const opened = await this.#opening;
    // A later request tries again.
    if (opened.outcome === "error") this.#opening = undefined;
    return opened;
  }

  async #dispatch(
    request: IncomingRequest,
    envelope: Envelope,
    opened: JsonObject,
  ): Promise<Reply> {
    const { method, params, cancelled } = request;
    if (method === "server/discover") return discovered(opened);
    if (method === "subscriptions/listen") return this.#listen(request, opened);
    if (/^tasks\//i.test(method)) {
      if (!acceptsTasks(envelope)) return missingTasks();
      const reply = this.#parts.tasks.answerModern(method, textIn(params, "taskId"));
      return reply ?? errorOf(CODE.methodNotFound, `No method ${method.slice(0, 100)}.`);
    }
    if (method === "tools/call" && acceptsTasks(envelope)) {
      return this.#parts.startTask(request, envelope.client);
    }
    cancelled.throwIfAborted();
    return this.#parts.answer(request, envelope.client);
  }

  /** Ends when the client cancels it. */
  async #listen({ id, params, cancelled }: IncomingRequest, opened: JsonObject): Promise<Reply> {
    const wanted = objectIn(params, "notifications");
    const capabilities = objectIn(opened, "capabilities");
    const honored = Object.keys(LIST_CHANGES).filter((key) => {
      const list = key.replace("ListChanged", "");
      return wanted?.members.get(key) === true && capabilities?.members.has(list) === true;
    });
    const notifications = Object.fromEntries(honored.map((key) => [key, "true"]));
    const meta = withMembers(undefined, { [SUBSCRIPTION_ID]: id });
    const acknowledged = withMembers(undefined, {
      _meta: meta.source,
      notifications: withMembers(undefined, notifications).source,
    });
    await this.#parts.notify("notifications/subscriptions/acknowledged", acknowledged);
    const selected = honored.map((key) => LIST_CHANGES[key] ?? "");
    this.#subscriptions.set(id, selected);
    const ended = Promise.withResolvers<void>();
    cancelled.addEventListener("abort", () => ended.resolve(), { once: true });
    if (cancelled.aborted) ended.resolve();
    await ended.promise;
    this.#subscriptions.delete(id);
    return resultOf(withMembers(undefined, { _meta: meta.source }));
  }
}

/** @param opened the combined result of `initialize` */
function discovered(opened: JsonObject): Reply {
  const extensions = exact({ [TASKS_EXTENSION]: {} }).source;
  const capabilities = withMembers(objectIn(opened, "capabilities"), {
    tasks: undefined,
    experimental: undefined,
    extensions,
  });
  const instructions = opened.members.get("instructions");
  return resultOf(
    withMembers(undefined, {
      supportedVersions: exact([MODERN_VERSION]).source,
      capabilities: capabilities.source,
      instructions: instructions === undefined ? undefined : sourceOf(instructions),
    }),
  );
}
