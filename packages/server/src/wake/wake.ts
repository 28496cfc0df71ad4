/**
 * Wakes waiting exchanges. A signal is a hint that a request may have changed: its receiver reads
 * the store again, and only that read is the truth. Operations send signals with
 * `Transaction.onCommit`, so that a signal never precedes its commit.
 */

import type { TerminalStatus } from "@countersign/protocol";
import type { ActorKind } from "../core/actor.ts";

export type Signal =
  | {
      readonly kind: "opened";
      readonly requestId: string;
      readonly projectId: string;
      readonly deadlineAt: number;
      /** Channels that announce it, by project and id. */
      readonly announces?: readonly { readonly projectId: string; readonly id: string }[];
    }
  | {
      readonly kind: "resolved";
      readonly requestId: string;
      readonly projectId: string;
      readonly status: TerminalStatus;
      /** Who or what decided. */
      readonly by: ActorKind;
      /** The instance whose receiver is to be notified; undefined when there is none. */
      readonly notifies: string | undefined;
    }
  /** Another replica says that it has resolved this one. */
  | { readonly kind: "ended"; readonly requestId: string }
  /**
   * An approval was kept that is not enough, or taken back. Of another replica it may also be a
   * verdict with a delay, or a request that was opened, one for all of its project.
   */
  | { readonly kind: "voted"; readonly projectId: string; readonly requestId: string }
  /** A verdict with a delay was stored or taken back. */
  | {
      readonly kind: "delayed";
      readonly projectId: string;
      readonly requestId: string;
      /** The owner of the verdict. */
      readonly reviewerId: string;
      /** When it is applied, epoch ms; undefined when it was taken back. */
      readonly commitsAt: number | undefined;
    }
  /** A freeze was set or lifted, in this project or, with an empty id, on the server. */
  | { readonly kind: "frozen"; readonly projectId: string }
  /** Something may be delivered earlier than it was said before. */
  | { readonly kind: "retryRequested"; readonly projectId: string; readonly instanceId: string }
  /** A receiver was removed, alone or with its instance: its deliveries have ended. */
  | { readonly kind: "removed"; readonly instanceId: string }
  /** A verification under this key has ended, well or not. */
  | { readonly kind: "verified"; readonly scope: string; readonly keyHash: string };

export interface Wake {
  signal(signal: Signal): void;

  /**
   * Calls back when this request was resolved, or when all waiting is stopped.
   *
   * @returns ends the subscription
   */
  onResolved(requestId: string, projectId: string, callback: () => void): () => void;

  onSignal(callback: (signal: Signal) => void): () => void;

  /** Calls back everybody who waits for a request: the process is shutting down. */
  releaseAll(): void;

  /** Calls back those who wait for this request, which another replica has resolved. */
  resolvedElsewhere(requestId: string): void;

  /** How many wait for a request. */
  readonly waiting: number;

  /** The requests with long polls, each once. */
  awaited(): string[];

  /** The project of a request with long polls; undefined without one. */
  projectOf(requestId: string): string | undefined;
}
