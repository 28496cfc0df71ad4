/**
 * The three approval operations of any provider, with the credential of one instance.
 *
 * Promises: an answer that is returned is whole, and about what was asked; a program that acts on
 * `approved` must still check the clock.
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

export interface CreateInput {
  /** Identifies one attempt: new for each, the same when that attempt is asked about again. */
  readonly key: string;
  readonly tool: string;
  /** A plain object, or a JsonObject whose text is submitted letter for letter. */
  readonly arguments: object;
  /** The window for a decision, like `10m`. */
  readonly timeout: string;
  /** Shown as a claim of the agent. */
  readonly reasoning?: string | undefined;
  /** What the adapter knows of the runtime. */
  readonly context?: object | undefined;
}

export interface ReadOptions extends OperationOptions {
  /** How long the provider may hold its answer, like `25s`; at once without it. 30 s at most. */
  readonly wait?: string | undefined;
}

/** What a gate needs of a client. */
export interface Approvals {
  /** Names the provider, for what is kept on disk. */
  readonly url: string;
  /** True: outcomes are predefined and no reviewer is asked. */
  readonly isDevelopment: boolean;
  create(input: CreateInput, options?: OperationOptions): Promise<ApprovalRequest>;
  read(known: string | ApprovalRequest, options?: ReadOptions): Promise<ApprovalRequest>;
  cancel(known: string | ApprovalRequest, options?: OperationOptions): Promise<ApprovalRequest>;
  /** Epoch ms by the clock of the provider, where it is known. */
  providerNow?(): number | undefined;
}

export type ClientOptions = Omit<ConnectionOptions, "url" | "token">;

export class Client implements Approvals {
  readonly isDevelopment = false;
  readonly #connection: Connection;

  /**
   * @param url where the provider is; https, except on this machine
   * @param token the credential of the instance
   * @throws SdkError `invalid_option`
   */
  constructor(url: string, token: string, options: ClientOptions = {}) {
    this.#connection = new Connection({ ...options, url, token });
  }

  get url(): string {
    return this.#connection.url;
  }

  providerNow(): number | undefined {
    return this.#connection.providerNow();
  }

  /**
   * Submits one call, or finds the request that its key has made before.
   *
   * @throws SdkError; the signal's reason. After either, the request may exist: the same key and
   *   input find it
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
   * @param known the request as it was last answered, so that a change of what never changes is
   *   noticed; or its id
   * @throws SdkError; the signal's reason
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
   * Takes back what is pending. Cancelling again answers the same.
   *
   * @throws SdkError (`providerCode` is `already_terminal` when it was decided before); the
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

/** What a header carries without a change. */
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
