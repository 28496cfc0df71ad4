/**
 * Checks a message of a provider to a receiver: headers, signature, and the exact fields.
 *
 * Throws `Violation`.
 *
 * @see contract: Authentication, 5; Events
 */

import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import {
  Problem,
  parseIdentifier,
  parseJsonBytes,
  parseSigningSecret,
  WEBHOOK_HEADERS,
} from "@countersign/protocol";
import { StrictFields } from "../client/read-resources.ts";
import type { SecretList } from "../client/secret-list.ts";
import { wallClock } from "../clock.ts";
import type { RequirementId } from "../contract/index.ts";
import { expect, Violation } from "../violation.ts";

/** A message as it arrived. */
export interface Arrived {
  readonly method: string;
  /** The request target as it was sent. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Message extends Arrived {
  readonly kind: "verification" | "notification";
  /** `webhook-id`, which is the id in the body. */
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly instanceId: string;
  readonly createdAt: string;
  /** Of a verification. */
  readonly challenge: string;
  /** Of a notification. */
  readonly requestId: string;
  /** `performance.now()` at which it was complete. */
  readonly arrivedAt: number;
}

/** The registration that a message must match. */
export interface Expected {
  readonly target: string;
  readonly registrationId: string;
  readonly secret: string;
}

const TOLERANCE_S = 300;

export function readMessage(arrived: Arrived, expected: Expected, secrets: SecretList): Message {
  const { method, target, body } = arrived;
  expect(method === "POST", "signature.headers", `a message came by ${method}`);
  expect(
    target === expected.target,
    "delivery.url.exact",
    `a message for ${expected.target} came to ${target}`,
  );
  refuseCredentials(arrived, secrets);
  const { id, timestamp, signature } = readHeaders(arrived, expected.secret);
  const kind = kindOf(body);
  const shape: RequirementId = kind === "verification" ? "verification.body" : "event.body";
  const own = kind === "verification" ? ["registration_id", "challenge"] : ["request_id"];
  const names = ["id", "type", "instance_id", "created_at", ...own];
  const fields = new StrictFields(parse(body, shape), names, shape, `a ${kind}`);
  const message: Message = {
    ...arrived,
    kind,
    id,
    timestamp,
    signature,
    instanceId: fields.identifier("instance_id"),
    createdAt: fields.timestamp("created_at"),
    challenge: kind === "verification" ? fields.identifier("challenge") : "",
    requestId: kind === "notification" ? fields.identifier("request_id") : "",
    arrivedAt: performance.now(),
  };
  const bodyId = fields.identifier("id");
  expect(bodyId === id, "event.id", `the id of a ${kind} is not its webhook-id`);
  const isEcho =
    kind === "notification" || fields.identifier("registration_id") === expected.registrationId;
  expect(isEcho, shape, "a verification names another registration_id");
  return message;
}

function readHeaders({ headers, body }: Arrived, secret: string) {
  const rule = "signature.headers";
  const read = (name: string): string => {
    const value = headers[name];
    expect(typeof value === "string" && value !== "", rule, `a message has no ${name}`);
    return value;
  };
  const id = read(WEBHOOK_HEADERS.id);
  const timestamp = read(WEBHOOK_HEADERS.timestamp);
  const signature = read(WEBHOOK_HEADERS.signature);
  expect(parseIdentifier(id) !== undefined, rule, "webhook-id is not a UUID");
  expect(/^\d+$/.test(timestamp), rule, `webhook-timestamp is ${JSON.stringify(timestamp)}`);
  const offS = Math.abs(wallClock() / 1000 - Number(timestamp));
  expect(
    offS <= TOLERANCE_S,
    "signature.timestamp",
    `webhook-timestamp is ${Math.round(offS)} s from this machine's clock`,
  );
  const key = parseSigningSecret(secret) ?? new Uint8Array();
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
  const isSigned = signature.split(" ").includes(`v1,${digest.digest("base64")}`);
  expect(isSigned, "signature.value", "no signature of a message is valid");
  return { id, timestamp, signature };
}

function refuseCredentials({ headers, body }: Arrived, secrets: SecretList): void {
  const rule = "signature.no-credentials";
  expect(headers.authorization === undefined, rule, "a message has an Authorization header");
  const text = `${JSON.stringify(headers)}\n${body.toString()}`;
  const isClean = secrets.clean(text) === text;
  expect(isClean, rule, "a message shows a credential or a signing secret");
}

/** Read leniently: what is wrong with it is said by the strict reader. */
function kindOf(body: Buffer): Message["kind"] {
  return body.includes("webhook.verification") ? "verification" : "notification";
}

function parse(body: Buffer, rule: RequirementId) {
  try {
    return parseJsonBytes(body);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Violation(rule, `a message: ${error.message}`);
  }
}
