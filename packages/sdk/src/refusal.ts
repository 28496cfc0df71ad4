/**
 * Parses error answers, with a status of 400 or more. The status determines the error; the envelope
 * only explains it. A proxy may answer without an envelope.
 *
 * @see contract: Errors
 */

import { JsonObject, type JsonValue, parseJsonBytes } from "@countersign/protocol";
import { readBody } from "./body.ts";
import { adviceFor } from "./errors.ts";

export interface Refusal {
  readonly message: string;
  /** True if a retry of the same exchange can succeed. */
  readonly isLost: boolean;
  readonly providerCode: string | undefined;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;
}

const BYTES_MAX = 64 * 1024;
const MESSAGE_CHARS_MAX = 500;

/**
 * @param now epoch ms, for a Retry-After that is a date
 * @param redact removes secrets. It receives the whole text, because a part of a secret is one too
 */
export async function readRefusal(
  response: Response,
  signal: AbortSignal,
  { now, redact }: { readonly now: number; readonly redact: (text: string) => string },
): Promise<Refusal> {
  const { status, headers } = response;
  const envelope = await readEnvelope(response, signal);
  const code = text(envelope, "code");
  const providerCode = code !== undefined && /^[a-z0-9_]{1,60}$/.test(code) ? code : undefined;
  const isLost = status === 429 || status >= 500;
  const shown = (name: string) => {
    const whole = text(envelope, name);
    return whole && redact(whole).slice(0, MESSAGE_CHARS_MAX).toWellFormed();
  };
  const says = shown("message");
  const advice = isLost ? "Try again later." : adviceFor(status, providerCode);
  const codes = providerCode === undefined ? `${status}` : `${status} ${providerCode}`;
  return {
    message: `The provider answered ${codes}${says ? `: ${says}` : "."} ${advice}`,
    isLost,
    providerCode,
    param: shown("param"),
    retryAfterMs: readRetryAfter(headers.get("retry-after"), now),
  };
}

async function readEnvelope(response: Response, signal: AbortSignal): Promise<JsonValue> {
  try {
    const body = parseJsonBytes(await readBody(response, BYTES_MAX, signal));
    return (body instanceof JsonObject && body.members.get("error")) || null;
  } catch {
    return null;
  }
}

function text(envelope: JsonValue, name: string): string | undefined {
  const value = envelope instanceof JsonObject ? envelope.members.get(name) : undefined;
  return typeof value === "string" && value !== "" ? value : undefined;
}

/**
 * @param header seconds or an HTTP date
 * @param now epoch ms
 * @returns ms from now; undefined without a valid header
 */
export function readRetryAfter(header: string | null, now: number): number | undefined {
  const trimmed = header?.trim() ?? "";
  if (/^\d{1,10}$/.test(trimmed)) return Number(trimmed) * 1000;
  // An HTTP date starts with the name of its day. Engines differ in how they parse other texts.
  const at = /^[A-Z][a-z]{2}/.test(trimmed) ? Date.parse(trimmed) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
