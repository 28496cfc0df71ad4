/**
 * One client and its servers. Calls of tools are held until they are approved; all else passes in
 * both directions, with ids of each connection's own. Unknown methods pass where they can only mean
 * one server, but nothing that begins with `tools/` passes without a request for approval.
 */

import { randomUUID } from "node:crypto";
import { type JsonObject, parseJson } from "@countersign/protocol";
import type { Countersign } from "@countersign/sdk";
import { CallTasks, requestOfTask } from "./call-tasks.ts";
import type { Channel } from "./channel.ts";
import type { GatewayConfig } from "./config.ts";
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
import { runGatedCall } from "./gated-call.ts";
import {
  clientVersion,
  initializeParams,
  initializeResult,
  isKnownVersion,
  TASKS_VERSION,
} from "./initialize.ts";
import { answerList, LISTS } from "./listing.ts";
import { envelopeOf, MODERN_VERSION } from "./modern-messages.ts";
import { ModernSession } from "./modern-session.ts";
import { paramMismatch } from "./param-mismatch.ts";
import { type IncomingNotification, type IncomingRequest, Peer, PeerGone } from "./peer.ts";
import { ProgressTokens } from "./progress-tokens.ts";
import { explain, type Report, reportAbout } from "./report.ts";
import { ResourceRoutes } from "./resource-routes.ts";
import { McpServer } from "./server.ts";
import type { ToolMemory } from "./tool-memory.ts";

export interface SessionParts {
  readonly config: GatewayConfig;
  readonly approvals: Countersign;
  readonly memory: ToolMemory;
  readonly report: Report;
  readonly version: string;
  /** Whether several clients share the session: the provider receives no session id then. */
  readonly isShared?: boolean;
  /** The user of the client, if the gateway has authenticated one. */
  readonly user?: string | undefined;
  /** A new connection to what is behind a server's name. */
  channelTo(server: GatewayConfig["servers"][number]): Channel;
}

/** Methods that are routed by the resource or prompt that they name. */
const OF_RESOURCES = ["resources/read", "resources/subscribe", "resources/unsubscribe"];

export class Session {
  readonly #id = randomUUID();
  readonly #parts: SessionParts;
  readonly #report: Report;
  readonly #client: Peer;
  readonly #servers: readonly McpServer[];
  readonly #routes: ResourceRoutes;
  readonly #tokens = new ProgressTokens<McpServer>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #tasks = new CallTasks();
  readonly #modern: ModernSession;
  /** Whether the client uses MCP 2026-07-28, which has no `initialize`. */
  #isModern = false;
  #clientInfo: JsonObject | undefined;
  /** Whether the client may request tasks, by its version of MCP. */
  #hasTasks = false;
  #wasOpened = false;

  constructor(client: Channel, parts: SessionParts) {
    this.#parts = parts;
    this.#report = reportAbout(parts.report, { session: this.#id });
    this.#client = new Peer(
      client,
      {
        request: (request) => this.#answer(request),
        notification: (notification) => this.#relayFromClient(notification),
        ended: (reason) => this.#end(reason),
      },
      this.#report,
    );
    this.#servers = parts.config.servers.map((config) => {
      const report = reportAbout(this.#report, { server: config.name });
      const events = {
        request: (server: McpServer, request: IncomingRequest) => this.#ask(server, request),
        notification: (server: McpServer, one: IncomingNotification) => {
          this.#relayFromServer(server, one);
        },
        changed: (server: McpServer) => this.#announce(server),
      };
      return new McpServer(config, () => parts.channelTo(config), events, report);
    });
    this.#routes = new ResourceRoutes(this.#servers);
    this.#modern = new ModernSession({
      version: parts.version,
      tasks: this.#tasks,
      open: (info) => this.#openModern(info),
      answer: (request, info) => this.#dispatch(request, info),
      startTask: (request, info) => this.#call(request, info, "startModern"),
      notify: (method, params) => this.#client.notify(method, params),
    });
  }

  async start(): Promise<void> {
    await this.#client.start();
  }

  /** Resolves when the client is gone and all servers are. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Held calls are taken back at the provider; calls that run are cancelled. */
  async close(reason: string): Promise<void> {
    await this.#client.close(reason);
    await this.ended;
  }

  #end(reason: string): void {
    this.#report("session_ended", { reason });
    const closing = this.#tasks
      .close("the session ended")
      .then(() => Promise.allSettled(this.#servers.map((server) => server.close())));
    closing.then(() => {
      this.#ended.resolve();
    });
    this.#client.close(reason).catch(() => {});
  }

  async #answer(request: IncomingRequest): Promise<Reply> {
    const { method, params } = request;
    try {
      const envelope = this.#wasOpened && !this.#isModern ? undefined : envelopeOf(params);
      if (envelope !== undefined && (this.#isModern || method !== "initialize")) {
        this.#isModern ||= envelope.version === MODERN_VERSION;
        return await this.#modern.answer(request, envelope);
      }
      if (this.#isModern) {
        return errorOf(CODE.invalidParams, "The request does not name its version of MCP.");
      }
      if (method === "initialize") return await this.#open(params);
      if (method === "ping") return resultOf(exact({}));
      if (!this.#wasOpened) return errorOf(CODE.invalidRequest, "The session was not opened.");
      return await this.#dispatch(request, this.#clientInfo);
    } catch (error) {
      if (!(error instanceof PeerGone)) throw error;
      return errorOf(CODE.unavailable, `The server is not available: ${error.message}.`);
    }
  }

  async #dispatch(request: IncomingRequest, client: JsonObject | undefined): Promise<Reply> {
    const { method, params } = request;
    if (method === "tools/call") {
      const asTask = this.#hasTasks && params?.members.has("task") === true;
      return this.#call(request, client, asTask ? "start" : undefined);
    }
    if (Object.hasOwn(LISTS, method)) {
      const hasTasks = this.#isModern ? undefined : this.#hasTasks;
      const context = { report: this.#report, hasTasks };
      return answerList(request, this.#servers, this.#routes, context);
    }
    // An unknown method that may run tools must not bypass the gateway.
    if (/^tools\//i.test(method)) return notFound(method);
    if (/^tasks\//i.test(method)) return this.#answerTask(request);
    return this.#relay(request);
  }

  /** Opens the servers for a client with MCP 2026-07-28. They cannot send requests to it. */
  async #openModern(client: JsonObject | undefined): Promise<Reply<JsonObject>> {
    const clientInfo = client ?? exact({ name: "unknown", version: "0" });
    const reply = await this.#open(
      parseJson(`{"capabilities":{},"clientInfo":${clientInfo.source}}`) as JsonObject,
    );
    if (reply.outcome === "result") for (const server of this.#servers) await server.ready();
    return { outcome: reply.outcome, value: parseJson(reply.value.source) as JsonObject };
  }

  async #open(params: JsonObject | undefined): Promise<Reply> {
    if (this.#wasOpened) return errorOf(CODE.invalidRequest, "The session is open.");
    this.#wasOpened = true;
    this.#clientInfo = objectIn(params, "clientInfo");
    const hello = initializeParams(params);
    const version = clientVersion(params);
    this.#hasTasks = version === TASKS_VERSION;
    const openings = new Map<string, JsonObject>();
    const all = this.#servers.map(async (server) => {
      const opening = await server.open(hello);
      if (isKnownVersion(opening)) return openings.set(server.name, opening);
      await server.close();
      throw new PeerGone("the server speaks a version of MCP that the gateway does not know");
    });
    const outcomes = await Promise.allSettled(all);
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (openings.size === 0 && failed !== undefined) {
      // Those that come later may find a server: this session does not.
      this.#wasOpened = false;
      return errorOf(CODE.unavailable, `No server is available: ${explain(failed.reason)}.`);
    }
    const inOrder = this.#servers
      .map(({ name }) => [name, openings.get(name)] as const)
      .filter((entry): entry is [string, JsonObject] => entry[1] !== undefined);
    const reply = initializeResult(this.#servers.length === 1, new Map(inOrder), {
      version,
      gateway: this.#parts.version,
    });
    this.#report("session_opened", { client: textIn(this.#clientInfo, "name") });
    return reply;
  }

  async #call(
    request: IncomingRequest,
    client: JsonObject | undefined,
    start: "start" | "startModern" | undefined,
  ): Promise<Reply> {
    const name = textIn(request.params, "name");
    const server = name === undefined ? undefined : this.#ownerOf(name);
    if (name === undefined || server === undefined) {
      return errorOf(CODE.invalidParams, "There is no tool with this name.");
    }
    const tool = name.slice(server.config.prefix.length);
    const rejection = await paramMismatch(request, server, tool);
    if (rejection !== undefined) return rejection;
    request.http?.accept();
    const { approvals, config, memory } = this.#parts;
    const context = {
      approvals,
      memory,
      report: this.#report,
      progressMs: config.progressMs,
      notify: (method: string, params: Exact, about: string) => {
        return this.#client.notify(method, params, about);
      },
    };
    const session = this.#parts.isShared === true ? undefined : this.#id;
    const { user } = this.#parts;
    const order = { request, server, tool, session, user, client };
    if (start === undefined) return runGatedCall(order, context);
    return this.#tasks[start](`${tool} waits for approval.`, ({ cancelled, describe }) => {
      const own = requestOfTask(request, cancelled);
      const started = () => describe(`${tool} was approved and runs.`);
      return runGatedCall({ ...order, request: own, started }, context);
    });
  }

  async #answerTask({ method, params, cancelled }: IncomingRequest): Promise<Reply> {
    if (!this.#hasTasks) return notFound(method);
    const reply = await this.#tasks.answer(method, textIn(params, "taskId"), cancelled);
    return reply ?? notFound(method);
  }

  #ownerOf(name: string): McpServer | undefined {
    return this.#servers.find(({ config }) => name.startsWith(config.prefix));
  }

  /** Everything but tools: to the one server it is about. */
  async #relay(request: IncomingRequest): Promise<Reply> {
    const { method, params, cancelled: signal } = request;
    if (method === "logging/setLevel") return this.#setLevel(request);
    if (OF_RESOURCES.includes(method)) {
      const server = this.#routes.find(textIn(params, "uri") ?? "");
      if (server === undefined)
        return errorOf(CODE.resourceNotFound, "No server has this resource.");
      return server.request(method, params, { signal });
    }
    if (method === "prompts/get") return this.#getPrompt(request);
    if (method === "completion/complete") return this.#complete(request);
    const [only] = this.#servers;
    if (this.#servers.length > 1 || only === undefined) return notFound(method);
    return only.request(method, params, { signal });
  }

  async #getPrompt({ method, params, cancelled: signal }: IncomingRequest): Promise<Reply> {
    const name = textIn(params, "name") ?? "";
    const server = this.#ownerOf(name);
    if (server === undefined)
      return errorOf(CODE.invalidParams, "There is no prompt with this name.");
    const own = JSON.stringify(name.slice(server.config.prefix.length));
    return server.request(method, withMembers(params, { name: own }), { signal });
  }

  async #complete({ method, params, cancelled: signal }: IncomingRequest): Promise<Reply> {
    const ref = objectIn(params, "ref");
    const name = textIn(ref, "name");
    const uri = textIn(ref, "uri");
    const server = name === undefined ? this.#routes.find(uri ?? "") : this.#ownerOf(name);
    if (server === undefined)
      return errorOf(CODE.invalidParams, "No server has this prompt or resource.");
    if (name === undefined) return server.request(method, params, { signal });
    const own = JSON.stringify(name.slice(server.config.prefix.length));
    const sent = withMembers(params, { ref: withMembers(ref, { name: own }).source });
    return server.request(method, sent, { signal });
  }

  async #setLevel({ method, params, cancelled: signal }: IncomingRequest): Promise<Reply> {
    const logging = this.#servers.filter((server) => server.can("logging"));
    if (logging.length === 0) return notFound(method);
    const replies = await Promise.allSettled(
      logging.map((server) => server.request(method, params, { signal })),
    );
    const answered = replies.find((reply) => reply.status === "fulfilled");
    return answered?.value ?? errorOf(CODE.unavailable, "No server accepted the log level.");
  }

  #relayFromClient({ method, params }: IncomingNotification): void {
    if (method === "notifications/initialized") {
      for (const server of this.#servers) server.ready().catch(() => {});
      return;
    }
    // It can be neither approved nor answered.
    if (/^tools\//i.test(method)) {
      this.#report("call_refused", { reason: "a tools/call without an id" });
      return;
    }
    const token = params?.members.get("progressToken");
    if (method === "notifications/progress" && token !== undefined) {
      const origin = this.#tokens.originOf(sourceOf(token));
      if (origin === undefined) return;
      const own = withMembers(params, { progressToken: origin.token });
      origin.owner.notify(method, own).catch(() => {});
      return;
    }
    for (const server of this.#servers) server.notify(method, params).catch(() => {});
  }

  /** A server wants something of the client: sampling, elicitation, roots. */
  async #ask(server: McpServer, request: IncomingRequest): Promise<Reply> {
    const { method, params, cancelled: signal } = request;
    if (method === "ping") return resultOf(exact({}));
    if (this.#isModern) return notFound(method);
    const meta = objectIn(params, "_meta");
    const token = meta?.members.get("progressToken");
    const about = this.#client.unanswered.at(-1);
    if (token === undefined) return this.#client.request(method, params, { signal, about });
    // Two servers may use the same token; the client must not mix them up.
    const own = this.#tokens.take(server, sourceOf(token));
    try {
      const sent = withMembers(params, {
        _meta: withMembers(meta, { progressToken: own }).source,
      });
      return await this.#client.request(method, sent, { signal, about });
    } finally {
      this.#tokens.release(own);
    }
  }

  #relayFromServer(server: McpServer, { method, params }: IncomingNotification): void {
    // The client does not know the tasks of servers.
    if (method === "notifications/tasks/status") return;
    const about = this.#client.unanswered.at(-1);
    const sent = this.#isModern
      ? this.#modern.relay({ kind: "notification", method, params })
      : this.#client.notify(method, params, about);
    sent.catch((error: unknown) => {
      this.#report("notification_lost", { server: server.name, reason: explain(error) });
    });
  }

  /** A server that was started again may have become another one. */
  #announce(server: McpServer): void {
    for (const kind of ["tools", "resources", "prompts"]) {
      if (!server.can(kind)) continue;
      const method = `notifications/${kind}/list_changed`;
      this.#relayFromServer(server, { kind: "notification", method, params: undefined });
    }
  }
}

function notFound(method: string): Reply {
  return errorOf(CODE.methodNotFound, `The gateway does not know ${method.slice(0, 100)}.`);
}
