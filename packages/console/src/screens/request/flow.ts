import type { PendingRequest } from "../../live/pending-request.ts";

/** How the open request leads to others. */
export interface Flow {
  /** The request to decide after the open one. */
  readonly next: PendingRequest | undefined;
  openNext(): void;
  /** A verdict of the user was recorded. */
  onDecided(): void;
  /** Opens the request above or below in the list. */
  move(by: number): void;
  back(): void;
}
