/** A destination of the stream of audit entries. */

import type { SinkKind } from "../core/audit-stream.ts";
import type { SendOutcome } from "../core/channel.ts";
import type { MaybePromise } from "../egress/message.ts";

export interface AuditBatch {
  /** Unique for its entries. */
  readonly id: string;
  /** One JSON text each, without line breaks. */
  readonly lines: readonly string[];
  /** Time limit, ms. */
  readonly timeoutMs: number;
  /** `Clock.monotonic` of the deadline. After it, another replica may start an attempt. */
  readonly endsBy: number;
  /** False when the lease has ended: nothing is sent. */
  readonly isWanted: (leftMs: number) => MaybePromise<boolean>;
}

export interface AuditSink {
  readonly kind: SinkKind;

  /** Makes one attempt. Every behaviour of the destination is an outcome. */
  send(batch: AuditBatch): Promise<SendOutcome>;

  /** Aborts messages in flight. */
  close(): void;
}
