/**
 * Shows what happens to calls: callbacks for programs, and lines for the operator.
 *
 * Promises: a callback that throws never changes the result of a call.
 */

import type { TerminalStatus } from "@countersign/protocol";
import type { ApprovalRequest } from "./answer.ts";
import type { ApprovalProvider } from "./approval-client.ts";
import { isFirst } from "./first-time.ts";
import { causeOf } from "./network-error.ts";

/** A call that waits for a decision. */
export interface PendingNotice {
  /** Id of the approval request. */
  readonly requestId: string;
  /** Name of the tool. */
  readonly tool: string;
  /** End of the time to decide, epoch ms. */
  readonly deadlineAt: number;
  /** Page of the request for reviewers; undefined if the provider has none. */
  readonly reviewUrl: string | undefined;
}

/** A decided call. */
export interface DecisionNotice {
  /** Id of the approval request. */
  readonly requestId: string;
  /** Name of the tool. */
  readonly tool: string;
  /** The outcome: `approved`, `denied`, `expired` or `cancelled`. */
  readonly status: TerminalStatus;
  /** Note of the decision. */
  readonly note: string | undefined;
  /** Page of the request for reviewers; undefined if the provider has none. */
  readonly reviewUrl: string | undefined;
}

/** Receives lines for the operator. `console` is one. */
export interface Logger {
  /** A call waits for a decision. */
  info(line: string): unknown;
  /** A call did not run because something failed, or a waiting call cannot reach the provider. */
  warn(line: string): unknown;
}

/** Options for observing calls. */
export interface ObserverOptions {
  /** Called once for each request that waits for a decision. */
  readonly onPending?: ((notice: PendingNotice) => unknown) | undefined;
  /** Called once for each decided request. */
  readonly onDecision?: ((notice: DecisionNotice) => unknown) | undefined;
  /** Receives lines for the operator; false for none. Default: stderr. */
  readonly logger?: Logger | false | undefined;
}

/** On Node, `console.error` writes to stderr, so that stdout stays free for the program. */
const STDERR: Logger = {
  info: (line) => console.error(line),
  warn: (line) => console.error(line),
};

export class Observers {
  readonly #options: ObserverOptions;
  readonly #provider: ApprovalProvider;
  readonly #logger: Logger | undefined;
  readonly #pending = new Set<string>();
  readonly #decided = new Set<string>();

  constructor(options: ObserverOptions, provider: ApprovalProvider) {
    this.#options = options;
    this.#provider = provider;
    this.#logger = options.logger === false ? undefined : (options.logger ?? STDERR);
  }

  pending({ id: requestId, tool, deadlineAt }: ApprovalRequest): void {
    if (!isFirst(this.#pending, requestId)) return;
    const reviewUrl = this.#provider.reviewUrlOf?.(requestId);
    const until = new Date(deadlineAt).toISOString();
    const where = reviewUrl ?? `request ${requestId}`;
    this.#write("info", `${JSON.stringify(tool)} waits for approval until ${until}: ${where}`);
    const { onPending } = this.#options;
    this.#call("onPending", () => onPending?.({ requestId, tool, deadlineAt, reviewUrl }));
  }

  /** @param request a request without a decision is ignored */
  decided({ id: requestId, tool, status, decision }: ApprovalRequest): void {
    if (status === "pending" || !isFirst(this.#decided, requestId)) return;
    const reviewUrl = this.#provider.reviewUrlOf?.(requestId);
    const notice = { requestId, tool, status, note: decision?.note, reviewUrl };
    this.#call("onDecision", () => this.#options.onDecision?.(notice));
  }

  warn(message: string): void {
    this.#write("warn", message);
  }

  #call(name: string, run: () => unknown): void {
    const report = (error: unknown) => {
      this.#write("warn", `The callback ${name} failed with ${causeOf(error)}.`);
    };
    try {
      // A rejection without a handler would end the process.
      Promise.resolve(run()).catch(report);
    } catch (error) {
      report(error);
    }
  }

  #write(level: keyof Logger, message: string): void {
    // A provider's text must not inject a second line.
    const line = `Countersign: ${message.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")}`;
    try {
      // A failing logger must not stop a call, and there is no other place to report it.
      Promise.resolve(this.#logger?.[level](line)).catch(() => {});
    } catch {}
  }
}
