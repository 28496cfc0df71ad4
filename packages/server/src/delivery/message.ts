/**
 * What goes through the guarded door, and what comes back.
 */

export interface Message {
  /** Besides those that the door writes itself: Host, lengths, Connection and encodings. */
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
   * Asks for a place at the chosen address (behind a proxy, at the name). The signal is aborted
   * when the message's time is over. Asked again when a second address is tried, after the first
   * place was left.
   *
   * @returns leaves the place; undefined: no place in time
   */
  readonly admit?: (address: string, signal: AbortSignal) => Soon<(() => void) | undefined>;
  /**
   * Asked before a connection is opened, and again before the first byte when opening it took
   * time. After the last answer nothing is waited for before the message is written.
   *
   * @param leftMs how long the message may take from now on
   * @returns false, or fails: send nothing
   */
  readonly isWanted?: ((leftMs: number) => Soon<boolean>) | undefined;
}

/** Most answers are known at once, and waiting for those would cost more than finding them. */
export type Soon<T> = T | Promise<T>;

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
  /** No place at the address in time, or not wanted any more: nothing was sent. */
  | { readonly kind: "busy" }
  | { readonly kind: "unreachable"; readonly reason: UnreachableReason };

/**
 * - `dns`: no address, or an answer missing
 * - `connect`: nobody there, at one or two addresses
 * - `tls`: no TLS, or no valid certificate for the host
 * - `timeout`: the message's time was over
 * - `reset`: the connection ended early, also by closing the door
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
