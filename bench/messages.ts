/**
 * The requests that the benchmark sends, as text: a tool call of about 450 bytes, and what is
 * done with the request made from it.
 */

import { hash } from "node:crypto";

const HOST = "Host: localhost\r\n";

/**
 * The exact text of the arguments of tool call `n`; of equal length for every `n`.
 *
 * @param memo makes it longer
 */
function argumentsText(n: number, memo = ""): string {
  const order = String(n).padStart(9, "0");
  const member = memo === "" ? "" : `,"memo":"${memo}"`;
  return (
    `{"account":"acct_1042","amount":129900,"currency":"EUR","invoice":"INV-${order}",` +
    `"lines":[{"sku":"A-17","quantity":3},{"sku":"B-02","quantity":1}],"notify":true${member}}`
  );
}

/** The body of tool call `n`. */
export function toolCall(n: number, memo?: string): string {
  return (
    `{"tool":"payments.refund","arguments":${argumentsText(n, memo)},"timeout":"604800s",` +
    `"agent_reasoning":"The customer returned the goods on Monday and asked for the refund that ` +
    `the policy allows within thirty days.",` +
    `"context":{"session":"3f8a1c","model":"planner-2","user":"u_58211","turn":14}}`
  );
}

/** SHA-256, in hex, of the arguments of tool call `n`: what a reviewer was shown. */
export function argumentsDigest(n: number): string {
  return hash("sha256", argumentsText(n), "hex");
}

function post(path: string, headers: string, body: string): string {
  return (
    `POST ${path} HTTP/1.1\r\n${HOST}${headers}Content-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** For servers that ask for no token. */
export function postMessage(path: string, body: string): string {
  return post(path, "", body);
}

export function echoMessage(n: number): string {
  return post("/echo", "", toolCall(n));
}

/** @param delivery a WebhookDeliveryInput of the contract */
export function provisionMessage(token: string, name = "bench", delivery?: object): string {
  const body = JSON.stringify({ instance_name: name, delivery });
  return post("/v1/instances", bearer(token) + key(`${name}-instance`), body);
}

/** Submits tool call `n`; the same `n` has the same key and body. */
export function createMessage(token: string, n: number, memo?: string): string {
  return post("/v1/requests", bearer(token) + key(`bench-key-${n}`), toolCall(n, memo));
}

/** @param wait a duration of the contract; empty answers at once */
export function readMessage(token: string, id: string, wait = ""): string {
  const query = wait === "" ? "" : `?wait=${wait}`;
  return `GET /v1/requests/${id}${query} HTTP/1.1\r\n${HOST}${bearer(token)}\r\n`;
}

export function cancelMessage(token: string, id: string): string {
  return `DELETE /v1/requests/${id} HTTP/1.1\r\n${HOST}${bearer(token)}\r\n`;
}

export function deleteInstanceMessage(token: string, id: string): string {
  return `DELETE /v1/instances/${id} HTTP/1.1\r\n${HOST}${bearer(token)}\r\n`;
}

/** Approves the request `id` that was made from tool call `n`. */
export function approveMessage(token: string, id: string, n: number): string {
  const body = `{"verdict":"approve","arguments_sha256":"${argumentsDigest(n)}"}`;
  return post(`/review/v1/requests/${id}/verdict`, bearer(token), body);
}

export function getMessage(path: string): string {
  return `GET ${path} HTTP/1.1\r\n${HOST}\r\n`;
}

/** The identifier that an answer begins with. */
export function idOf(body: Buffer): string {
  return body.toString("latin1", '{"id":"'.length, '{"id":"'.length + 36);
}

const INVOICE = /"invoice":"INV-(\d+)"/;

/** The number of the tool call that an answer shows. */
export function numberOf(body: Buffer): number {
  return Number(INVOICE.exec(body.toString("latin1"))?.[1]);
}

function bearer(token: string): string {
  return `Authorization: Bearer ${token}\r\n`;
}

function key(name: string): string {
  return `Idempotency-Key: ${name}\r\n`;
}
