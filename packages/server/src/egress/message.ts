/**
 * Messages that the egress client sends, and the replies to them.
 */

export interface Message {
  /** Default: POST. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH";
  /** In addition to the client's headers: Host, lengths, Connection and encodings. */
  readonly headers: Readonly<Record<string, string>>;
  /** A string is sent as UTF-8, in one write with the headers. */
  readonly body: string | Uint8Array;
  /** Time limit from DNS to the last byte of the answer. */
  readonly timeoutMs: number;
  /** `Clock.monotonic` of the deadline, if that is earlier. */
  readonly endsBy?: number | undefined;
  /**
   * Maximum bytes of the answer's body; a longer body is `too_large`. With 0, the reply has only
   * the status: it resolves with the headers, and a small body is drained so that the connection
   * can be reused.
   */
  readonly responseBytesMax: number;
  /** True: never over a reused connection. */
  readonly freshConnection: boolean;
  /**
   * Acquires a slot at the chosen address (behind a proxy, at the name). The signal is aborted at
   * the deadline of the message. Called again for a second address, after the first slot was
   * released.
   *
   * @returns releases the slot; undefined: no slot was free in time
   */
  readonly admit?: (address: string, signal: AbortSignal) => MaybePromise<(() => void) | undefined>;
  /**
   * Called before a connection is opened, and again before the first byte if opening took time.
   * After the last call the message is written without waiting.
   *
   * @param leftMs maximum duration of the message from now on
   * @returns false, or rejects: send nothing
   */
  readonly isWanted?: ((leftMs: number) => MaybePromise<boolean>) | undefined;
}

/** Most results are available synchronously. Awaiting them would cost more than computing them. */
export type MaybePromise<T> = T | Promise<T>;

export type Reply =
  /** Any status. A redirect is an answer and is not followed. */
  | {
      readonly kind: "answered";
      readonly status: number;
      /** The unparsed header. */
      readonly retryAfter: string | undefined;
      readonly body: Uint8Array;
    }
  /** Nothing was sent: this server or the proxy rejected the address. */
  | { readonly kind: "refused" }
  /** Nothing was sent: no slot was free in time, or the message is obsolete. */
  | { readonly kind: "busy" }
  | { readonly kind: "unreachable"; readonly reason: UnreachableReason };

/**
 * - `dns`: no address, or a missing answer
 * - `connect`: rejected or unreachable, at one or two addresses
 * - `tls`: no TLS, or no valid certificate for the host
 * - `timeout`: the deadline passed
 * - `reset`: the connection ended early, also when the client closes
 * - `protocol`: invalid HTTP, or too many interim answers
 * - `too_large`: headers or body
 * - `stale`: a reused connection ended before the first byte of the answer. The receiver may have
 *   received the message; the caller sends it again.
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
