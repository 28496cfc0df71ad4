/**
 * Wakes waiting exchanges. A signal is a hint that a request may have changed. Its receiver rereads
 * the store, which is authoritative. Operations send signals with `Transaction.onCommit`, so a
 * signal never precedes its commit.
 */

import type { TerminalStatus } from "@countersign/protocol";
import type { ActorKind } from "../core/actor.ts";

export type Signal =
  | {
      readonly kind: "opened";
      readonly requestId: string;
      readonly projectId: string;
      readonly deadlineAt: number;
      /** When its first step of escalation is due, epoch ms; undefined: none. */
      readonly escalatesAt?: number | undefined;
      /** Channels that announce it, by project and id. */
      readonly announces?: readonly { readonly projectId: string; readonly id: string }[];
    }
  /** A step of the escalation of a request was applied. */
  | {
      readonly kind: "escalated";
      readonly requestId: string;
      readonly projectId: string;
      /** As for an opened request. */
      readonly announces: readonly { readonly projectId: string; readonly id: string }[];
    }
  | {
      readonly kind: "resolved";
      readonly requestId: string;
      readonly projectId: string;
      readonly status: TerminalStatus;
      /** Kind of the decider. */
      readonly by: ActorKind;
      /** The instance to notify; undefined: none. */
      readonly notifies: string | undefined;
    }
  /** Another replica has resolved this request. */
  | { readonly kind: "ended"; readonly requestId: string }
  /**
   * A vote was stored or withdrawn. From another replica, it can also be a delayed verdict, an
   * escalation or an opened request; one hint then represents its whole project.
   */
  | { readonly kind: "voted"; readonly projectId: string; readonly requestId: string }
  /** A delayed verdict was stored or withdrawn. */
  | {
      readonly kind: "delayed";
      readonly projectId: string;
      readonly requestId: string;
      /** The owner of the verdict. */
      readonly reviewerId: string;
      /** When it is applied, epoch ms; undefined: withdrawn. */
      readonly commitsAt: number | undefined;
    }
  /** A freeze was created or lifted, in this project or, with an empty id, on the server. */
  | { readonly kind: "frozen"; readonly projectId: string }
  /** A delivery may be due earlier than before. */
  | { readonly kind: "retryRequested"; readonly projectId: string; readonly instanceId: string }
  /** A receiver was removed, with or without its instance. Its deliveries have ended. */
  | { readonly kind: "removed"; readonly instanceId: string }
  /** A verification with this key succeeded or failed. */
  | { readonly kind: "verified"; readonly scope: string; readonly keyHash: string };

export interface Wake {
  signal(signal: Signal): void;

  /**
   * Calls back when this request was resolved, or when waiting is stopped.
   *
   * @returns ends the subscription
   */
  onResolved(requestId: string, projectId: string, callback: () => void): () => void;

  onSignal(callback: (signal: Signal) => void): () => void;

  /** Calls back all waiters, because the process is stopping. */
  releaseAll(): void;

  /** Calls back the waiters of this request, which another replica has resolved. */
  resolvedElsewhere(requestId: string): void;

  /** Number of waiters. */
  readonly waiting: number;

  /** The requests with long polls, each once. */
  awaited(): string[];

  /** The project of a request with long polls; undefined without one. */
  projectOf(requestId: string): string | undefined;
}
