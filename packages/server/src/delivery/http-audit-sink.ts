/** Sends batches of audit entries to an HTTPS collector, signed as webhooks are. */

import type { KeyObject } from "node:crypto";
import { WEBHOOK_HEADERS, type WebhookUrl } from "@countersign/protocol";
import type { Clock } from "../clock.ts";
import type { StreamFormat } from "../core/audit-stream.ts";
import type { SendOutcome } from "../core/channel.ts";
import type { EgressClient, Reply } from "../egress/egress-client.ts";
import { type PostAttempt, postResending } from "../egress/post-resending.ts";
import type { AuditBatch, AuditSink } from "./audit-sink.ts";
import { toSendOutcome } from "./send-outcome.ts";
import { signMessage } from "./sign-message.ts";

export interface HttpAuditSinkParts {
  readonly egress: EgressClient;
  readonly clock: Clock;
  readonly url: WebhookUrl;
  readonly format: StreamFormat;
  /** Undefined: batches are not signed. */
  readonly signingKey: KeyObject | undefined;
  /** Value of the header `Authorization`. */
  readonly authorization: string | undefined;
}

/** @see CloudEvents 1.0.2, HTTP Protocol Binding, section 3.3 */
const CONTENT_TYPES: Readonly<Record<StreamFormat, string>> = {
  cloudevents: "application/cloudevents-batch+json; charset=utf-8",
  ocsf: "application/json",
};

export class HttpAuditSink implements AuditSink {
  readonly kind = "http";
  readonly #parts: HttpAuditSinkParts;

  constructor(parts: HttpAuditSinkParts) {
    this.#parts = parts;
  }

  async send(batch: AuditBatch): Promise<SendOutcome> {
    const { clock } = this.#parts;
    const post = (attempt: PostAttempt) => this.#post(batch, attempt);
    return toSendOutcome(await postResending(clock, batch.timeoutMs, post), clock.now());
  }

  close(): void {
    this.#parts.egress.close();
  }

  #post({ id, lines, endsBy, isWanted }: AuditBatch, attempt: PostAttempt): Promise<Reply> {
    const { egress, url } = this.#parts;
    const body = `[${lines.join(",")}]`;
    const headers = this.#headers(id, body);
    return egress.post(url, { ...attempt, endsBy, responseBytesMax: 0, headers, body, isWanted });
  }

  #headers(id: string, body: string): Record<string, string> {
    const { clock, format, signingKey, authorization } = this.#parts;
    const headers: Record<string, string> = { "content-type": CONTENT_TYPES[format] };
    if (authorization !== undefined) headers.authorization = authorization;
    if (signingKey === undefined) return headers;
    const timestampS = Math.floor(clock.now() / 1000);
    headers[WEBHOOK_HEADERS.id] = id;
    headers[WEBHOOK_HEADERS.timestamp] = String(timestampS);
    headers[WEBHOOK_HEADERS.signature] = signMessage(signingKey, id, timestampS, body);
    return headers;
  }
}
