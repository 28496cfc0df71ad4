/** Fetches small documents with the outbound guard. It is part of the context. */

import type { Settings } from "../config/settings.ts";
import { createEgress, createUrls, type EgressParts } from "./create-egress.ts";

export interface OutboundRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytesMax: number;
}

export type OutboundReply =
  | { readonly kind: "fetched"; readonly body: Uint8Array }
  /** Why there is no document: `status:404`, `refused`, `unreachable:dns`, `off`. */
  | { readonly kind: "failed"; readonly failure: string };

export interface Outbound {
  /** Fetches a document once. Never throws for the behaviour of the other side. */
  get(request: OutboundRequest): Promise<OutboundReply>;

  /** True for a URL that the operator permits. */
  accepts(url: string): boolean;

  /** Aborts fetches in flight. */
  close(): void;
}

/** Where nothing is sent over HTTP. */
export const NO_OUTBOUND: Outbound = {
  get: async () => ({ kind: "failed", failure: "off" }),
  accepts: () => false,
  close: () => {},
};

const FETCH_MS = 8_000;

export function createOutbound(settings: Settings, parts: EgressParts): Outbound {
  if (!settings.webhooks.enabled) return NO_OUTBOUND;
  const egress = createEgress(settings, parts);
  const urls = createUrls(settings);
  return {
    async get({ url: text, headers, bytesMax }) {
      const url = urls.read(text);
      if (url === undefined) return { kind: "failed", failure: "refused" };
      const reply = await egress.post(url, {
        method: "GET",
        headers,
        body: "",
        timeoutMs: FETCH_MS,
        responseBytesMax: bytesMax,
        freshConnection: true,
      });
      switch (reply.kind) {
        case "answered":
          if (reply.status === 200) return { kind: "fetched", body: reply.body };
          return { kind: "failed", failure: `status:${reply.status}` };
        case "unreachable":
          return { kind: "failed", failure: `unreachable:${reply.reason}` };
        default:
          return { kind: "failed", failure: reply.kind };
      }
    },
    accepts: (url) => urls.read(url) !== undefined,
    close: () => egress.close(),
  };
}
