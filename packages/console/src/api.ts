/**
 * The client of the reviewer API, with the errors that the screens show. `exactText` gives the
 * exact text of arguments in an answer: a reviewer sees and signs the text that is stored.
 */

import type { ProblemFinding } from "@countersign/protocol";
import { ReviewClient } from "@countersign/review-api/client";
import { t } from "./language/t.ts";
import { signInUrl, urlOf } from "./root.ts";

interface WireError {
  readonly code?: string;
  readonly message?: string;
  readonly param?: string;
  readonly findings?: readonly ProblemFinding[];
}

/** A refusal of the server in its own words, or that nothing answered (`status` 0). */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string | undefined;
  /** The member of the body that it is about. */
  readonly param: string | undefined;
  /** Errors of a policy; empty for other requests. */
  readonly findings: readonly ProblemFinding[];

  constructor(status: number, { code, message, param, findings }: WireError) {
    super(message ?? t`Could not reach the server. Try again in a moment.`);
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.param = param;
    this.findings = findings ?? [];
  }

  /** Whether the server may have applied the request although no answer came. */
  get isUnanswered(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

const TIMEOUT_MS = 15_000;

/** Their 401 is about the password or the passkey, not about the session. */
const SIGN_IN_TARGETS = ["/session", "/session/passkey"];

let opensSignIn = true;

/** Opens the sign-in page, which leads back here. */
export function onSignedOut(): void {
  if (opensSignIn) location.assign(signInUrl());
}

/**
 * For the pages that open before sign-in, and for a user who signs out.
 *
 * @returns a function that undoes it
 */
export function stayWhenSignedOut(): () => void {
  opensSignIn = false;
  return () => {
    opensSignIn = true;
  };
}

/**
 * Signs the user in again, where an operation requires a recent sign-in.
 *
 * @returns false when the user cancels
 */
export type StepUp = () => Promise<boolean>;

let stepUp: StepUp = async () => false;

export function setStepUp(ask: StepUp): void {
  stepUp = ask;
}

class Api extends ReviewClient {
  protected override refused(text: string): Refusal {
    return new Refusal(200, errorIn(text));
  }

  protected override interrupted(): Refusal {
    return new Refusal(0, {});
  }
}

/** Id of the project that calls act in; undefined until the session is loaded. */
export const callsIn: { project: string | undefined } = { project: undefined };

/** It belongs to no project, and names those of the user. */
const SESSION_TARGET = "/session";

/** The operations of the reviewer API. @throws Refusal */
export const api = new Api(({ target, timeoutMs = TIMEOUT_MS, headers, ...request }) => {
  const { project } = callsIn;
  const isNamed = project !== undefined && target !== SESSION_TARGET;
  return send(target, {
    ...request,
    headers: { ...(isNamed && { "countersign-project": project }), ...headers },
    timeoutMs: Number.isFinite(timeoutMs) ? timeoutMs : undefined,
  });
});

interface Sending {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** @param target path below `/review/v1`, with the query */
async function send(target: string, sending: Sending): Promise<Response> {
  try {
    return await sendOnce(target, sending);
  } catch (error) {
    const isStale = error instanceof Refusal && error.code === "stale_sign_in";
    if (isStale && (await stepUp())) return sendOnce(target, sending);
    throw error;
  }
}

async function sendOnce(
  target: string,
  { method, headers, body, timeoutMs, signal }: Sending,
): Promise<Response> {
  const limits = [
    ...(timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)]),
    ...(signal === undefined ? [] : [signal]),
  ];
  let response: Response;
  try {
    response = await fetch(urlOf(`review/v1${target}`), {
      method,
      headers,
      signal: AbortSignal.any(limits),
      ...(body !== undefined && { body }),
    });
  } catch {
    signal?.throwIfAborted();
    throw new Refusal(0, {});
  }
  if (response.ok) return response;
  const isSignIn = method === "POST" && SIGN_IN_TARGETS.includes(target);
  if (response.status === 401 && !isSignIn) onSignedOut();
  throw new Refusal(response.status, errorIn(await response.text().catch(() => "")));
}

/** A proxy may answer with something other than JSON. */
function errorIn(source: string): WireError {
  try {
    return (JSON.parse(source) as { error?: WireError })?.error ?? {};
  } catch {
    return {};
  }
}
