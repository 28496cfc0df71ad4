/**
 * The three approval operations of a provider, with the credential of one instance.
 *
 * Promises: the client returns only complete responses that match the submitted call. A program
 * that acts on `approved` must still check the clock.
 *
 * @see contract: Endpoints, POST, GET and DELETE /v1/requests
 */

import {
  IDEMPOTENCY_KEY_CHARS_MAX,
  type JsonObject,
  parseDuration,
  parseIdentifier,
} from "@countersign/protocol";
import {
  type ApprovalRequest,
  assertContinues,
  assertHolds,
  readRequest,
  type Submission,
} from "./answer.ts";
import {
  Connection,
  type ConnectionOptions,
  invalidAnswer,
  type OperationOptions,
} from "./connection.ts";
import { SdkError } from "./errors.ts";
import { snapshot } from "./snapshot.ts";

/** Input of {@link Client.create}. */
export interface CreateInput {
  /** Idempotency key of one attempt. Reuse it to retry that attempt; use a new one otherwise. */
  readonly key: string;
  /** Name of the tool. */
  readonly tool: string;
  /** A plain object of JSON values, or a JsonObject, which is submitted as its exact text. */
  readonly arguments: object;
  /** Time that reviewers have to decide, such as `10m`. */
  readonly timeout: string;
  /** The agent's own explanation. Reviewers see it as a claim of the agent. */
  readonly reasoning?: string | undefined;
  /** Facts about the runtime for reviewers and policies, such as the model. */
  readonly context?: object | undefined;
}

/** Options of {@link Client.read}. */
export interface ReadOptions extends OperationOptions {
  /** Long poll: time to wait for a decision, such as `25s`, at most `30s`. Default: no wait. */
  readonly wait?: string | undefined;
}

/** The client interface that a gate uses. Implement it to replace {@link Client}. */
export interface Approvals {
  /** Identifies the provider in stored records. */
  readonly url: string;
  /** True if outcomes are predefined and no reviewer is asked. */
  readonly isDevelopment: boolean;
  /** Submits one call. @see {@link Client.create} */
  create(input: CreateInput, options?: OperationOptions): Promise<ApprovalRequest>;
  /** Reads the current state of a request. @see {@link Client.read} */
  read(known: string | ApprovalRequest, options?: ReadOptions): Promise<ApprovalRequest>;
  /** Cancels a pending request. @see {@link Client.cancel} */
  cancel(known: string | ApprovalRequest, options?: OperationOptions): Promise<ApprovalRequest>;
  /** Time of the provider's clock, epoch ms; undefined if unknown. */
  providerNow?(): number | undefined;
}

/** Options of a {@link Client} or a {@link Provisioner}. */
export type ClientOptions = Omit<ConnectionOptions, "url" | "token">;

/** Creates, reads and cancels approval requests at a provider. */
export class Client implements Approvals {
  readonly isDevelopment = false;
  readonly #connection: Connection;

  /**
   * @param url base URL of the provider. It must use https, except on this machine
   * @param token the credential of the instance
   * @throws SdkError `invalid_option` for an invalid URL, token or option
   */
  constructor(url: string, token: string, options: ClientOptions = {}) {
    this.#connection = new Connection({ ...options, url, token });
  }

  /** The base URL without a trailing slash. */
  get url(): string {
    return this.#connection.url;
  }

  /** Time of the provider's clock, epoch ms, accurate to 1 s; undefined before its first answer. */
  providerNow(): number | undefined {
    return this.#connection.providerNow();
  }

  /**
   * Submits one call, or returns the request that the same key created before. Retries lost
   * answers.
   *
   * @throws SdkError, or the signal's reason. The request may exist in both cases. Repeat the
   *   operation with the same key and input to get it
   */
  async create(input: CreateInput, options: OperationOptions = {}): Promise<ApprovalRequest> {
    const key = readKey(input.key);
    const submission = readSubmission(input);
    const body = writeSubmission(submission);
    const order = { ...options, key, body };
    const request = readRequest(await this.#connection.exchange("createApprovalRequest", order));
    assertHolds(request, submission);
    return request;
  }

  /**
   * Reads the current state of a request.
   *
   * @param known the last known state of the request, or its id. With a state, the client rejects
   *   an answer in which an immutable field changed
   * @throws SdkError, or the signal's reason
   */
  async read(known: string | ApprovalRequest, options: ReadOptions = {}): Promise<ApprovalRequest> {
    const { wait, ...rest } = options;
    if (wait !== undefined && parseDuration(wait) === undefined) {
      throw new SdkError("invalid_call", "wait must be a whole number with s, m or h, like 25s.");
    }
    const query = wait === undefined ? "" : `?wait=${wait}`;
    const order = { ...rest, id: idOf(known), query };
    return continuing(known, await this.#connection.exchange("getApprovalRequest", order));
  }

  /**
   * Cancels a pending request. A repeated cancellation returns the same result.
   *
   * @throws SdkError, with `providerCode` `already_terminal` for a decided request, or the
   *   signal's reason
   */
  async cancel(
    known: string | ApprovalRequest,
    options: OperationOptions = {},
  ): Promise<ApprovalRequest> {
    const order = { ...options, id: idOf(known) };
    const body = await this.#connection.exchange("cancelApprovalRequest", order);
    const request = continuing(known, body);
    if (request.status !== "cancelled") throw invalidAnswer("a cancelled request is not cancelled");
    return request;
  }
}

function continuing(
  known: string | ApprovalRequest,
  body: Parameters<typeof readRequest>[0],
): ApprovalRequest {
  const request = readRequest(body);
  if (request.id !== idOf(known)) throw invalidAnswer("id is that of another request");
  if (typeof known !== "string") assertContinues(request, known);
  return request;
}

function idOf(known: string | ApprovalRequest): string {
  const id = parseIdentifier(typeof known === "string" ? known : known.id);
  if (id === undefined) throw new SdkError("invalid_call", "A request id must be a UUID.");
  return id;
}

/** Characters that a header transmits unchanged. */
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** @throws SdkError `invalid_call` */
export function readKey(key: string): string {
  if (typeof key === "string" && key.length <= IDEMPOTENCY_KEY_CHARS_MAX && KEY.test(key)) {
    return key;
  }
  const rule = `1 to ${IDEMPOTENCY_KEY_CHARS_MAX} printable ASCII characters`;
  throw new SdkError("invalid_call", `key must be ${rule}, without leading or trailing spaces.`);
}

/** @throws SdkError `invalid_call` */
export function readSubmission(input: Omit<CreateInput, "key">): Submission {
  const { tool, timeout, reasoning, context } = input;
  if (typeof tool !== "string" || tool === "") {
    throw new SdkError("invalid_call", "tool must be the name of the tool.");
  }
  if (parseDuration(timeout) === undefined) {
    throw new SdkError("invalid_call", "timeout must be a whole number with s, m or h, like 10m.");
  }
  for (const text of [tool, reasoning ?? ""]) {
    if (text.isWellFormed()) continue;
    throw new SdkError(
      "invalid_call",
      "tool or reasoning contains a lone surrogate, which is not valid Unicode.",
    );
  }
  return {
    tool,
    arguments: snapshot(input.arguments, "arguments").json,
    timeout,
    agentReasoning: reasoning,
    context: context === undefined ? undefined : snapshot(context, "context").json,
  };
}

function writeSubmission(submission: Submission): string {
  const { tool, timeout, agentReasoning, context } = submission;
  const members: [string, string | undefined][] = [
    ["tool", JSON.stringify(tool)],
    ["arguments", sourceOf(submission.arguments)],
    ["timeout", JSON.stringify(timeout)],
    ["agent_reasoning", agentReasoning === undefined ? undefined : JSON.stringify(agentReasoning)],
    ["context", sourceOf(context)],
  ];
  const written = members.filter(([, text]) => text !== undefined);
  return `{${written.map(([name, text]) => `"${name}":${text}`).join(",")}}`;
}

function sourceOf(json: JsonObject | undefined): string | undefined {
  return json?.source;
}
