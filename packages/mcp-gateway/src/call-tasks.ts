/**
 * Tasks for calls that wait: the client receives a task at once, polls its state and reads the
 * result later. A task belongs to one session and ends with it.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
 */

import { randomUUID } from "node:crypto";
import { JsonObject, parseJson } from "@countersign/protocol";
import {
  CODE,
  type Exact,
  errorOf,
  exact,
  objectIn,
  objectsIn,
  type Reply,
  resultOf,
  textIn,
  withMembers,
} from "./exact-message.ts";
import type { IncomingRequest } from "./peer.ts";

export type TaskStatus = "working" | "completed" | "failed" | "cancelled";

/** Of one session. The oldest finished task makes room for a new one. */
const TASKS_MAX = 1_000;

const POLL_MS = 2_000;

/** Characters of a status text that comes from a result. */
const TEXT_MAX = 1_000;

const RELATED = "io.modelcontextprotocol/related-task";

export interface TaskRun {
  /** Aborted when the client cancels the task, or the session ends. */
  readonly cancelled: AbortSignal;
  /** Replaces the text that the client receives beside the status. */
  describe(text: string): void;
}

class CallTask {
  readonly id = randomUUID();
  readonly cancelling = new AbortController();
  readonly finished: Promise<void>;
  readonly #createdAt = timestamp();
  #updatedAt = this.#createdAt;
  #status: TaskStatus = "working";
  #text: string;
  #reply: Reply | undefined;

  constructor(text: string, run: (task: TaskRun) => Promise<Reply>) {
    this.#text = text;
    const describe = (next: string) => {
      if (this.#status === "working") this.#update("working", next);
    };
    this.finished = run({ cancelled: this.cancelling.signal, describe }).then(
      (reply) => this.#finish(reply),
      () => this.#finish(errorOf(CODE.internal, "Internal error of the gateway. See its log.")),
    );
  }

  get isFinished(): boolean {
    return this.#status !== "working";
  }

  get reply(): Reply | undefined {
    return this.#reply;
  }

  cancel(reason: string): void {
    if (this.isFinished) return;
    this.#reply = errorOf(CODE.invalidRequest, "The task was cancelled.");
    this.#update("cancelled", `Cancelled: ${reason}.`);
    this.cancelling.abort(new Error(reason));
  }

  state(): Record<string, unknown> {
    return {
      taskId: this.id,
      status: this.#status,
      statusMessage: this.#text,
      createdAt: this.#createdAt,
      lastUpdatedAt: this.#updatedAt,
      ttl: null,
      pollInterval: POLL_MS,
    };
  }

  /** As in the extension for tasks: with the result of a finished task. */
  modernState(): Exact {
    const isError = this.#reply?.outcome === "error";
    const status = this.#status === "failed" && !isError ? "completed" : this.#status;
    const state = {
      taskId: this.id,
      status,
      statusMessage: this.#text,
      createdAt: this.#createdAt,
      lastUpdatedAt: this.#updatedAt,
      ttlMs: null,
      pollIntervalMs: POLL_MS,
    };
    const value = this.#status === "cancelled" ? undefined : this.#reply?.value.source;
    const json = parseJson(JSON.stringify(state)) as JsonObject;
    return withMembers(json, {
      error: isError ? value : undefined,
      result: isError ? undefined : value,
    });
  }

  #finish(reply: Reply): void {
    if (this.isFinished) return;
    this.#reply = reply;
    const failure = failureOf(reply);
    if (failure === undefined) this.#update("completed", "The result is available.");
    else this.#update("failed", failure.slice(0, TEXT_MAX));
  }

  #update(status: TaskStatus, text: string): void {
    this.#status = status;
    this.#text = text;
    this.#updatedAt = timestamp();
  }
}

/** The client's request for a call, as the request of a task that outlives its exchange. */
export function requestOfTask(request: IncomingRequest, cancelled: AbortSignal): IncomingRequest {
  const { id, method, params } = request;
  const own = parseJson(withMembers(params, { task: undefined }).source) as JsonObject;
  return { id, method, params: own, cancelled, disconnected: cancelled };
}

export class CallTasks {
  readonly #tasks = new Map<string, CallTask>();

  /**
   * @param text the first status text
   * @returns the task, while the call continues
   */
  start(text: string, run: (task: TaskRun) => Promise<Reply>): Reply {
    const task = this.#create(text, run);
    if (task === undefined) return tooManyTasks();
    return resultOf(exact({ task: task.state() }));
  }

  /** As {@link CallTasks.start}, for the extension of MCP 2026-07-28. */
  startModern(text: string, run: (task: TaskRun) => Promise<Reply>): Reply {
    const task = this.#create(text, run);
    if (task === undefined) return tooManyTasks();
    const state = parseJson(task.modernState().source) as JsonObject;
    return resultOf(withMembers(state, { resultType: JSON.stringify("task") }));
  }

  #create(text: string, run: (task: TaskRun) => Promise<Reply>): CallTask | undefined {
    if (this.#tasks.size >= TASKS_MAX && !this.#dropOldest()) return undefined;
    const task = new CallTask(text, run);
    this.#tasks.set(task.id, task);
    return task;
  }

  /** Replies to a method that starts with `tasks/`; undefined for an unknown method. */
  async answer(
    method: string,
    id: string | undefined,
    signal: AbortSignal,
  ): Promise<Reply | undefined> {
    if (!["tasks/get", "tasks/result", "tasks/cancel"].includes(method)) return undefined;
    const task = this.#tasks.get(id ?? "");
    if (task === undefined) return errorOf(CODE.invalidParams, "There is no task with this id.");
    if (method === "tasks/result") return resultOfTask(task, signal);
    if (method === "tasks/cancel") {
      if (task.isFinished) return errorOf(CODE.invalidParams, "The task is already finished.");
      task.cancel("the client cancelled the task");
    }
    return resultOf(exact(task.state()));
  }

  /** As {@link CallTasks.answer}, for the extension of MCP 2026-07-28. */
  answerModern(method: string, id: string | undefined): Reply | undefined {
    if (!["tasks/get", "tasks/update", "tasks/cancel"].includes(method)) return undefined;
    const task = this.#tasks.get(id ?? "");
    if (task === undefined) return errorOf(CODE.invalidParams, "There is no task with this id.");
    if (method === "tasks/get") return resultOf(task.modernState());
    if (method === "tasks/cancel") task.cancel("the client cancelled the task");
    return resultOf(exact({}));
  }

  /** Cancels all tasks that are not finished. */
  async close(reason: string): Promise<void> {
    const open = [...this.#tasks.values()].filter((task) => !task.isFinished);
    for (const task of open) task.cancel(reason);
    await Promise.all(open.map(({ finished }) => finished));
  }

  #dropOldest(): boolean {
    const oldest = [...this.#tasks.values()].find(({ isFinished }) => isFinished);
    return oldest !== undefined && this.#tasks.delete(oldest.id);
  }
}

function tooManyTasks(): Reply {
  return errorOf(CODE.unavailable, `${TASKS_MAX} tasks of this session are not finished.`);
}

function timestamp(): string {
  return new Date(performance.timeOrigin + performance.now()).toISOString();
}

/** The text of an error, or of a result with `isError`; undefined for other results. */
function failureOf({ outcome, value }: Reply): string | undefined {
  const result = objectOf(value);
  if (outcome === "error") return textIn(result, "message") ?? "The call failed.";
  if (result.members.get("isError") !== true) return undefined;
  const [first] = objectsIn(result, "content");
  return textIn(first, "text") ?? "The call failed.";
}

function objectOf(value: Exact): JsonObject {
  return value instanceof JsonObject ? value : (parseJson(value.source) as JsonObject);
}

/** Waits for the end of the task. @throws the reason of the signal */
async function resultOfTask(task: CallTask, signal: AbortSignal): Promise<Reply> {
  const stopped = Promise.withResolvers<void>();
  const stop = () => stopped.resolve();
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([task.finished, stopped.promise]);
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  const { reply } = task;
  if (reply === undefined) throw new Error("a finished task has no result");
  if (reply.outcome === "error") return reply;
  const result = objectOf(reply.value);
  const related = exact({ taskId: task.id }).source;
  const meta = withMembers(objectIn(result, "_meta"), { [RELATED]: related });
  return resultOf(withMembers(result, { _meta: meta.source }));
}
