/**
 * Decides at Countersign itself, by its reviewer surface: what a reviewer's own program would do.
 *
 * @see docs/reference/review-api.md
 */

import { createHash } from "node:crypto";
import { JsonObject, parseJsonBytes } from "@countersign/protocol";
import type { Decider } from "../options.ts";
import { bearer, post, VERDICT_MS_MAX } from "./url-decider.ts";

export interface CountersignDeciderOptions {
  /** Where `/review/v1` is. */
  readonly url: string;
  /** A reviewer's, who may decide alone and without a passkey. */
  readonly token: string;
}

/** Deeper than the server accepts, because the answer wraps what it accepted. */
const LIMITS = { depthMax: 1_000, numberCharsMax: 1_000_000 };

export function countersignDecider({ url, token }: CountersignDeciderOptions): Decider {
  const base = `${url.replace(/\/+$/, "")}/review/v1/requests`;
  return {
    async decide({ requestId, verdict, note }) {
      const place = `${base}/${encodeURIComponent(requestId)}`;
      const digest = await digestOf(place, token);
      const body = { verdict, arguments_sha256: digest, ...(note !== undefined && { note }) };
      await post(`${place}/verdict`, body, token, "the reviewer API");
    },
  };
}

/** The digest of the stored arguments, which a verdict has to name. */
async function digestOf(place: string, token: string): Promise<string> {
  const response = await fetch(place, {
    headers: bearer(token),
    redirect: "error",
    signal: AbortSignal.timeout(VERDICT_MS_MAX),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (!response.ok) throw new Error(`the reviewer API answered ${response.status}`);
  const answer = parseJsonBytes(bytes, LIMITS);
  const args = answer instanceof JsonObject ? answer.members.get("arguments") : undefined;
  if (!(args instanceof JsonObject)) throw new Error("the reviewer API did not return a request");
  return createHash("sha256").update(args.source).digest("hex");
}
