/**
 * The three approval operations of a provider, with the credential of one instance, and the
 * recording of an approval's use, which is an extension.
 *
 * Promises: the client returns only complete responses that match the submitted call. A program
 * that acts on `approved` must still check the clock.
 *
 * @see contract: Endpoints, POST, GET and DELETE /v1/requests
 */

import {
  IDEMPOTENCY_KEY_CHARS_MAX,
  JsonObject,
  type JsonValue,
  OPERATIONS,
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
import type { ApiKeySource } from "./api-key.ts";
import {
  CONNECTION_OPTIONS,
  Connection,
  type ConnectionOptions,
  invalidAnswer,
  type OperationOptions,
} from "./connection.ts";
import type { DecisionWindow } from "./duration.ts";
import { readApiKey, readUrl } from "./environment.ts";
import { SdkError } from "./errors.ts";
import { assertKnownOptions } from "./known-options.ts";
import { ReviewUrls } from "./review-urls.ts";
import { snapshot } from "./snapshot.ts";

/** Input of {@link ApprovalClient.create}. */
export interface CreateInput {
  /** Identifies one attempt. Reuse it to retry that attempt; use a new one otherwise. */
  readonly idempotencyKey: string;
  /** Name of the tool. */
  readonly tool: string;
  /**
   * The MCP server of the tool. A provider without the extension `server` refuses it.
   *
   * @see docs/reference/extensions.md
   */
  readonly server?: string | undefined;
  /** A plain object of JSON values, or a JsonObject, which is submitted as its exact text. */
  readonly arguments: object;
  /** Time that reviewers have to decide, such as `10m`. */
  readonly timeout: string;
  /** The agent's own explanation. Reviewers see it as a claim of the agent. */
  readonly reasoning?: string | undefined;
  /** Facts about the runtime for reviewers and policies, such as the model. */
  readonly context?: object | undefined;
  /**
   * Trace of the call, as the header `traceparent` (W3C Trace Context). Default: the active span of
   * the application, if it has OpenTelemetry. An invalid one is ignored.
   */
  readonly traceparent?: string | undefined;
}

/** Options of {@link ApprovalClient.read}. */
export interface ReadOptions extends OperationOptions {
  /** Long poll: time to wait for a decision, such as `25s`, at most `30s`. Default: no wait. */
  readonly wait?: DecisionWindow | undefined;
}

/** The operations that {@link Countersign} needs. An {@link ApprovalClient} has them. */
export interface ApprovalProvider {
  /** Identifies the provider in stored records. */
  readonly url: string;
  /** True if outcomes are predefined and no reviewer is asked. */
  readonly isDevelopment: boolean;
  /** Submits one call. @see {@link ApprovalClient.create} */
  create(input: CreateInput, options?: OperationOptions): Promise<ApprovalRequest>;
  /** Reads the current state of a request. @see {@link ApprovalClient.read} */
  read(known: string | ApprovalRequest, options?: ReadOptions): Promise<ApprovalRequest>;
  /** Cancels a pending request. @see {@link ApprovalClient.cancel} */
  cancel(known: string | ApprovalRequest, options?: OperationOptions): Promise<ApprovalRequest>;
  /** Records the use of an approval. @see {@link ApprovalClient.consume} */
  consume?(requestId: string, options: ConsumeOptions): Promise<void>;
  /** Page of a request for reviewers; undefined if the provider has none. */
  reviewUrlOf?(requestId: string): string | undefined;
  /** Time of the provider's clock, epoch ms; undefined if unknown. */
  providerNow?(): number | undefined;
}

/** Options of an {@link ApprovalClient}. */
export interface ApprovalClientOptions extends Omit<ConnectionOptions, "url" | "apiKey"> {
  /** Base URL of the provider, with https except on this machine. Default: COUNTERSIGN_URL. */
  readonly url?: string | undefined;
  /**
   * The credential of the agent's instance, or a function that returns it, such as that of
   * `workloadIdentity`. Default: COUNTERSIGN_API_KEY, or the file COUNTERSIGN_API_KEY_FILE.
   */
  readonly apiKey?: string | ApiKeySource | undefined;
}

/** Options of {@link ApprovalClient.consume}. */
export interface ConsumeOptions extends OperationOptions {
  /** A new key for each start of a call. A retry with the same key has the same result. */
  readonly idempotencyKey: string;
}

/** Creates, reads, cancels and consumes approval requests at a provider. */
export class ApprovalClient implements ApprovalProvider {
  readonly isDevelopment = false;
  readonly #connection: Connection;
  readonly #reviewUrls = new ReviewUrls();
  /** The path that the provider supports; undefined until it is known. */
  #consumePath: string | undefined;

  /** @throws SdkError `invalid_option` for a missing or invalid URL, API key or option */
  constructor(options: ApprovalClientOptions = {}) {
    assertKnownOptions("new ApprovalClient()", options, CLIENT_OPTIONS);
    this.#connection = new Connection({
      ...options,
      url: readUrl(options),
      apiKey: readApiKey(options),
    });
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
    const key = readKey(input.idempotencyKey);
    const submission = readSubmission(input);
    const body = writeSubmission(submission);
    let link: string | null = null;
    const onHeaders = (headers: Headers) => {
      link = headers.get("link");
    };
    const { traceparent } = input;
    const order = { ...options, key, body, traceparent, onHeaders };
    const answer = await this.#connection.exchange(OPERATIONS.createApprovalRequest, order);
    const request = readRequest(answer);
    assertHolds(request, submission);
    this.#reviewUrls.note(request.id, link, `${this.url}/v1/requests`);
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
      throw new SdkError(
        "invalid_call",
        "wait must be a whole number with s, m or h, such as 25s.",
      );
    }
    const query = wait === undefined ? "" : `?wait=${wait}`;
    const id = idOf(known);
    let link: string | null = null;
    const onHeaders = (headers: Headers) => {
      link = headers.get("link");
    };
    const order = { ...rest, id, query, onHeaders };
    const answer = await this.#connection.exchange(OPERATIONS.getApprovalRequest, order);
    const request = continuing(known, answer);
    this.#reviewUrls.note(id, link, `${this.url}/v1/requests/${id}`);
    return request;
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
    const body = await this.#connection.exchange(OPERATIONS.cancelApprovalRequest, order);
    const request = continuing(known, body);
    if (request.status !== "cancelled") throw invalidAnswer("a cancelled request is not cancelled");
    return request;
  }

  /**
   * Records the use of an approval. Resolves for one key of a request only. Call it right before
   * the tool starts.
   *
   * @throws SdkError `refused` with `providerCode` `already_consumed`, `approval_expired`,
   *   `calls_frozen` or `not_approved`; `unsupported` if the provider cannot record uses; another
   *   SdkError, or the signal's reason. The use may be recorded in the last two cases.
   */
  async consume(requestId: string, { idempotencyKey, ...rest }: ConsumeOptions): Promise<void> {
    const order = { ...rest, id: idOf(requestId), key: readKey(idempotencyKey) };
    const paths = this.#consumePath === undefined ? CONSUME_PATHS : [this.#consumePath];
    for (const path of paths) {
      try {
        assertConsumed(await this.#connection.exchange({ ...CONSUME, path }, order), order.id);
        this.#consumePath = path;
        return;
      } catch (error) {
        const isUnknownPath =
          error instanceof SdkError && (error.status === 404 || error.status === 405);
        // On a path that worked before, 404 is about the request.
        if (!isUnknownPath || this.#consumePath !== undefined) throw error;
      }
    }
    throw new SdkError(
      "unsupported",
      "The provider cannot record the use of approvals. Pass a store to Countersign, such as " +
        "FileStore of @countersign/sdk/file-store.",
    );
  }

  /** The page that an answer of the provider named. */
  reviewUrlOf(requestId: string): string | undefined {
    return this.#reviewUrls.of(requestId);
  }
}

/** Countersign's own path first, then that of the protocol's extension. */
const CONSUME_PATHS = ["/agent/v1/requests/:id/consume", "/v1/requests/:id/consume"];

const CONSUME = { method: "POST", success: [200] } as const;

/** The names of the options. */
export const CLIENT_OPTIONS = [...CONNECTION_OPTIONS, "apiKey"] as const;

/** @throws SdkError `invalid_answer` for an answer about another request */
function assertConsumed(answer: JsonValue | undefined, id: string): void {
  const named = answer instanceof JsonObject ? answer.members.get("id") : undefined;
  if (typeof named === "string" && parseIdentifier(named) === id) return;
  throw invalidAnswer("id is that of another request");
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
  throw new SdkError(
    "invalid_call",
    `idempotencyKey must be ${rule}, without leading or trailing spaces.`,
  );
}

/** @throws SdkError `invalid_call` */
export function readSubmission(input: Omit<CreateInput, "idempotencyKey">): Submission {
  const { tool, server, timeout, reasoning, context } = input;
  if (server !== undefined && (typeof server !== "string" || server === "")) {
    throw new SdkError("invalid_call", "server must be the name of an MCP server.");
  }
  if (typeof tool !== "string" || tool === "") {
    throw new SdkError("invalid_call", "tool must be the name of the tool.");
  }
  if (parseDuration(timeout) === undefined) {
    throw new SdkError(
      "invalid_call",
      "timeout must be a whole number with s, m or h, such as 10m.",
    );
  }
  for (const text of [tool, server ?? "", reasoning ?? ""]) {
    if (text.isWellFormed()) continue;
    throw new SdkError(
      "invalid_call",
      "tool, server or reasoning contains a lone surrogate, which is not valid Unicode.",
    );
  }
  return {
    tool,
    server,
    arguments: snapshot(input.arguments, "arguments").json,
    timeout,
    agentReasoning: reasoning,
    context: context === undefined ? undefined : snapshot(context, "context").json,
  };
}

function writeSubmission(submission: Submission): string {
  const { tool, server, timeout, agentReasoning, context } = submission;
  const members: [string, string | undefined][] = [
    ["tool", JSON.stringify(tool)],
    ["server", server === undefined ? undefined : JSON.stringify(server)],
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
