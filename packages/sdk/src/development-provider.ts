/**
 * Predefined outcomes in place of a provider, for development and tests. No reviewer is asked, and
 * the outcomes are not approvals. The provider therefore rejects NODE_ENV `production` and an API
 * key, warns about each `approved`, and marks every verdict.
 */

import { parseDuration, type TerminalStatus } from "@countersign/protocol";
import { type ApprovalRequest, assertHolds, type Decision, type Submission } from "./answer.ts";
import {
  type ApprovalProvider,
  type ConsumeOptions,
  type CreateInput,
  readKey,
  readSubmission,
} from "./approval-client.ts";
import { systemTiming, type Timing } from "./clock.ts";
import { isProduction } from "./environment.ts";
import { adviceFor, SdkError } from "./errors.ts";
import { assertKnownOptions } from "./known-options.ts";
import type { Logger } from "./observers.ts";

/** A predefined outcome with a note. */
export interface CannedOutcome {
  /** The outcome of each call of the tool. */
  readonly status: TerminalStatus;
  /** Note of the decision. */
  readonly note?: string | undefined;
}

/** Options of a {@link DevelopmentProvider}. */
export interface DevelopmentOptions {
  /** Outcomes by tool name; `*` applies to all other tools. A tool without an outcome is denied. */
  readonly outcomes: Readonly<Record<string, TerminalStatus | CannedOutcome>>;
  /** True: a request is pending until a program reads it, to test suspending and resuming. */
  readonly isPendingFirst?: boolean | undefined;
  /** The agent's API key, if set. The provider rejects a key: it belongs to a real provider. */
  readonly apiKey?: string | undefined;
  /** Receives a warning at the start and for every predefined approval. Default: the console. */
  readonly logger?: Pick<Logger, "warn"> | undefined;
  /** Clocks, timers and randomness. Default: those of the runtime. */
  readonly timing?: Timing | undefined;
}

const OPTIONS = ["outcomes", "isPendingFirst", "apiKey", "logger", "timing"];

const WINDOW_MS_MAX = 168 * 3_600_000;
const VALIDITY_MS = 300_000;

/** Returns predefined outcomes in place of a provider, for development and tests. */
export class DevelopmentProvider implements ApprovalProvider {
  readonly isDevelopment = true;
  readonly url = "development:";
  readonly #options: DevelopmentOptions;
  readonly #timing: Timing;
  readonly #warn: (message: string) => void;
  readonly #requests = new Map<string, ApprovalRequest>();
  readonly #ids = new Map<string, string>();
  readonly #uses = new Map<string, string>();

  /** @throws SdkError `invalid_option` in production, with an API key, or for an unknown option */
  constructor(options: DevelopmentOptions) {
    assertKnownOptions("new DevelopmentProvider()", options, OPTIONS);
    if (isProduction()) throw refused("NODE_ENV is production");
    if (options.apiKey !== undefined && options.apiKey !== "") throw refused("an API key is set");
    this.#options = options;
    this.#timing = options.timing ?? systemTiming;
    const { logger = console } = options;
    this.#warn = (message) => logger.warn(message);
    this.#warn("DEVELOPMENT: tool calls get predefined outcomes. No reviewer is asked.");
  }

  async create(input: CreateInput): Promise<ApprovalRequest> {
    const key = readKey(input.idempotencyKey);
    const submission = readSubmission(input);
    const known = this.#requests.get(this.#ids.get(key) ?? "");
    if (known !== undefined) {
      assertSameInput(key, known, submission);
      return this.#options.isPendingFirst ? known : this.#end(known);
    }
    const createdAt = Math.floor(this.#timing.now());
    const windowMs = Math.min(parseDuration(input.timeout) ?? 0, WINDOW_MS_MAX);
    const request: ApprovalRequest = {
      ...submission,
      id: this.#freshId(),
      status: "pending",
      createdAt,
      deadlineAt: createdAt + windowMs,
      decision: undefined,
    };
    this.#ids.set(key, request.id);
    this.#requests.set(request.id, request);
    return this.#options.isPendingFirst ? request : this.#end(request);
  }

  async read(known: string | ApprovalRequest): Promise<ApprovalRequest> {
    return this.#end(this.#find(known));
  }

  async cancel(known: string | ApprovalRequest): Promise<ApprovalRequest> {
    const request = this.#find(known);
    if (request.status === "pending" || request.status === "cancelled") {
      return this.#decide(request, { status: "cancelled" });
    }
    throw conflict("already_terminal", "The request is decided.");
  }

  async consume(requestId: string, { idempotencyKey }: ConsumeOptions): Promise<void> {
    const { decision } = this.#find(requestId);
    if (decision?.status !== "approved")
      throw conflict("not_approved", "The request is not approved.");
    const consumedBy = this.#uses.get(requestId) ?? idempotencyKey;
    this.#uses.set(requestId, consumedBy);
    if (consumedBy === idempotencyKey) return;
    throw conflict("already_consumed", "The approval was used before.");
  }

  #find(known: string | ApprovalRequest): ApprovalRequest {
    const request = this.#requests.get(typeof known === "string" ? known : known.id);
    if (request !== undefined) return request;
    throw new SdkError("refused", "Request not found. Predefined outcomes end with the process.");
  }

  #end(request: ApprovalRequest): ApprovalRequest {
    const { outcomes } = this.#options;
    const configured = Object.hasOwn(outcomes, request.tool)
      ? outcomes[request.tool]
      : outcomes["*"];
    const canned = typeof configured === "string" ? { status: configured } : configured;
    const none = { status: "denied", note: `No outcome is defined for ${request.tool}.` } as const;
    return this.#decide(request, canned ?? none);
  }

  #decide(request: ApprovalRequest, { status, note }: CannedOutcome): ApprovalRequest {
    if (request.status !== "pending") return request;
    const decidedAt = Math.max(request.createdAt, Math.floor(this.#timing.now()));
    const expiresAt = status === "approved" ? decidedAt + VALIDITY_MS : undefined;
    const decision: Decision = { status, note, decidedAt, expiresAt };
    const ended = { ...request, status, decision };
    this.#requests.set(request.id, ended);
    if (status === "approved") {
      this.#warn(`DEVELOPMENT: "${request.tool}" was approved by a predefined outcome.`);
    }
    return ended;
  }

  /** Recognizable: a random UUID does not start with this many zeros. */
  #freshId(): string {
    const number = String(this.#requests.size + 1).padStart(12, "0");
    const run = Math.floor(this.#timing.random() * 0x1_0000)
      .toString(16)
      .padStart(4, "0");
    return `00000000-0000-4000-${run}-${number}`;
  }
}

/** @throws SdkError `refused`, like a provider that receives a key again with another input */
function assertSameInput(key: string, known: ApprovalRequest, submission: Submission): void {
  try {
    assertHolds(known, submission);
  } catch {
    const providerCode = "idempotency_conflict";
    const message = `The key ${JSON.stringify(key)} was used for another input.`;
    const detail = { status: 409, providerCode, idempotencyKey: key };
    throw new SdkError("refused", `${message} ${adviceFor(409, providerCode)}`, detail);
  }
}

function conflict(providerCode: string, message: string): SdkError {
  return new SdkError("refused", message, { status: 409, providerCode });
}

function refused(why: string): SdkError {
  const fix = "Remove the option provider.";
  const message = `DevelopmentProvider is for development only, but ${why}. ${fix}`;
  return new SdkError("invalid_option", message);
}
