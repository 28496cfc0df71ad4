/**
 * Verifies one webhook in one call, for programs that do not use a `Receiver`.
 *
 * @see contract: Events; Authentication, 5
 */

import { Problem, parseSigningSecret } from "@countersign/protocol";
import { readBody, TooLarge } from "./body.ts";
import { systemTiming, type Timing } from "./clock.ts";
import { SdkError } from "./errors.ts";
import type { ResolvedEvent } from "./receiver-store.ts";
import {
  BODY_MS_MAX,
  isSignedBy,
  parseMessage,
  readSigned,
  type Signed,
  TOLERANCE_S,
  WEBHOOK_BYTES_MAX,
  type WebhookMessage,
} from "./webhook-message.ts";

/** The provider checks that this receiver has the secret of the registration. */
export interface VerificationWebhook {
  /** The provider verifies a new registration. */
  readonly type: "webhook.verification";
  /** Id of the registration, a UUID in lower case. */
  readonly registrationId: string;
  /** Id of the agent's instance, a UUID in lower case. */
  readonly instanceId: string;
  /** Return this response to confirm the registration. */
  readonly response: Response;
}

/** A request is resolved. The event does not contain the decision, so read the request. */
export interface ResolvedWebhook extends ResolvedEvent {
  /** A request is resolved. */
  readonly type: "request.resolved";
}

/** A verified webhook. Compare `type` first. */
export type WebhookEvent = VerificationWebhook | ResolvedWebhook;

/** Options of {@link verifyWebhook}. */
export interface VerifyWebhookOptions {
  /** Clocks and timers. Default: those of the runtime. */
  readonly timing?: Timing | undefined;
}

/**
 * Verifies the signature and the timestamp of a webhook and parses it.
 *
 * It does not detect duplicates: store the `id` of an event before you return a 2xx status. With
 * several secrets, it does not check which one belongs to the instance. A `Receiver` does both.
 *
 * @param request unchanged: the signature covers the exact bytes of its body
 * @param secret the signing secret of the registration, or several during a rotation
 * @throws SdkError `invalid_webhook` (return 400), `invalid_signature` or `invalid_timestamp`
 *   (return 401); `invalid_option` for a malformed secret; `invalid_call` if the body was read
 */
export async function verifyWebhook(
  request: Request,
  secret: string | readonly string[],
  { timing = systemTiming }: VerifyWebhookOptions = {},
): Promise<WebhookEvent> {
  const secrets = readSecrets(secret);
  const body = await readBytes(request, timing);
  const signed = readSigned(request.headers, body);
  if (signed === undefined) {
    throw malformed(
      "The headers webhook-id, webhook-timestamp or webhook-signature are missing or malformed. " +
        "Check that a proxy does not remove them.",
    );
  }
  // The signature first: a signed message with a wrong time shows that a clock is wrong.
  await checkSignature(signed, secrets);
  checkTimestamp(signed, timing);
  return eventOf(parse(body, signed.id));
}

function readSecrets(secret: string | readonly string[]): readonly string[] {
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (!Array.isArray(secrets) || secrets.length === 0) {
    throw new SdkError("invalid_option", "verifyWebhook needs at least one signing secret.");
  }
  for (const each of secrets) {
    if (typeof each === "string" && parseSigningSecret(each) !== undefined) continue;
    throw new SdkError(
      "invalid_option",
      "Invalid signing secret. Expected whsec_ and 32 bytes in Base64, as registered.",
    );
  }
  return secrets;
}

async function readBytes(request: Request, timing: Timing): Promise<Uint8Array> {
  if (request.method !== "POST") {
    throw malformed(`A webhook uses the method POST, not ${request.method}.`);
  }
  if (request.bodyUsed) {
    const fix = "Call verifyWebhook before other code reads the body.";
    throw new SdkError("invalid_call", `The body of the request was already read. ${fix}`);
  }
  const bound = new AbortController();
  const cancelTimer = timing.after(BODY_MS_MAX, () => bound.abort());
  try {
    return await readBody(request, WEBHOOK_BYTES_MAX, bound.signal);
  } catch (error) {
    if (error instanceof TooLarge) {
      throw malformed(`The body is larger than ${WEBHOOK_BYTES_MAX} bytes.`);
    }
    if (bound.signal.aborted) {
      throw malformed(`The body did not arrive within ${BODY_MS_MAX / 1_000} s.`);
    }
    throw error;
  } finally {
    cancelTimer();
  }
}

async function checkSignature(signed: Signed, secrets: readonly string[]): Promise<void> {
  let isSigned = false;
  for (const secret of secrets) isSigned = (await isSignedBy(signed, secret)) || isSigned;
  if (isSigned) return;
  throw new SdkError(
    "invalid_signature",
    "The signature of the webhook does not match. Check the signing secret of the registration, " +
      "and pass the unchanged bytes of the body.",
  );
}

function checkTimestamp({ timestampS }: Signed, timing: Timing): void {
  const exactS = timestampS - timing.now() / 1_000;
  if (Math.abs(exactS) <= TOLERANCE_S) return;
  const aheadS = Math.sign(exactS) * Math.ceil(Math.abs(exactS));
  throw new SdkError(
    "invalid_timestamp",
    `The webhook was signed ${Math.abs(aheadS)} s ${aheadS < 0 ? "before" : "after"} the time of ` +
      `this machine. The limit is ${TOLERANCE_S} s. Correct the clock. If it is correct, an old ` +
      "message was repeated.",
  );
}

function parse(body: Uint8Array, webhookId: string): WebhookMessage {
  try {
    return parseMessage(body, webhookId);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { param } = error;
    const field = param === undefined ? "" : ` Field: ${param}.`;
    throw malformed(`The body violates the contract: ${error.message}${field}`, param);
  }
}

function eventOf(message: WebhookMessage): WebhookEvent {
  if (message.type === "request.resolved") return { type: message.type, ...message.event };
  const { type, registrationId, instanceId, challenge } = message;
  return { type, registrationId, instanceId, response: Response.json({ challenge }) };
}

function malformed(message: string, param?: string): SdkError {
  return new SdkError("invalid_webhook", message, { param });
}
