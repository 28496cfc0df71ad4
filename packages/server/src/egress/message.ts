/**
 * Messages that the egress client sends, and the replies to them.
 */

export interface Message {
  /** In addition to those of the client: Host, lengths, Connection and encodings. */
  readonly headers: Readonly<Record<string, string>>;
  /** A text goes out as UTF-8, in one piece with the headers. */
  readonly body: string | Uint8Array;
  /** For everything from DNS to the last byte that is wanted. */
  readonly timeoutMs: number;
  /** `Clock.monotonic` when it must be over, if that comes earlier. */
  readonly endsBy?: number | undefined;
  /**
   * Bytes of the answer's body that are wanted; more from the receiver is `too_large`. 0 is
   * content with the status: the reply comes with the headers, and a small body is read aside so
   * that the connection can be used again.
   */
  readonly responseBytesMax: number;
  /** True: never over a connection that carried another message before. */
  readonly freshConnection: boolean;
  /**
   * Acquires a slot at the chosen address (behind a proxy, at the name). The signal is aborted
   * at the deadline of the message. Called again for a second address, after the first slot was
   * released.
   *
   * @returns releases the slot; undefined: no slot was free in time
   */
  readonly admit?: (address: string, signal: AbortSignal) => MaybePromise<(() => void) | undefined>;
  /**
   * Called before a connection is opened, and again before the first byte when opening took time.
   * After the last call the message is written without waiting.
   *
   * @param leftMs how long the message may take from now on
   * @returns false, or fails: send nothing
   */
  readonly isWanted?: ((leftMs: number) => MaybePromise<boolean>) | undefined;
}

/** Most results are known at once: awaiting them would cost more than computing them. */
export type MaybePromise<T> = T | Promise<T>;

export type Reply =
  /** Whatever the status: a redirect is an answer like another and is not followed. */
  | {
      readonly kind: "answered";
      readonly status: number;
      /** The header as it came. */
      readonly retryAfter: string | undefined;
      readonly body: Uint8Array;
    }
  /** An address that is not public (or not allowed), or the proxy says so: nothing was sent. */
  | { readonly kind: "refused" }
  /** No slot at the address in time, or not wanted any more: nothing was sent. */
  | { readonly kind: "busy" }
  | { readonly kind: "unreachable"; readonly reason: UnreachableReason };

/**
 * - `dns`: no address, or an answer missing
 * - `connect`: refused or unreachable, at one or two addresses
 * - `tls`: no TLS, or no valid certificate for the host
 * - `timeout`: the message's time was over
 * - `reset`: the connection ended early, also by closing the client
 * - `protocol`: no HTTP, or interim answers without end
 * - `too_large`: headers or body
 * - `stale`: a connection that had carried another message ended before a byte of the answer.
 *   Whether the message arrived is not known; the caller sends it afresh.
 */
export type UnreachableReason =
  | "dns"
  | "connect"
  | "tls"
  | "timeout"
  | "reset"
  | "protocol"
  | "too_large"
  | "stale";

export function unreachable(reason: UnreachableReason): Reply {
  return { kind: "unreachable", reason };
}
