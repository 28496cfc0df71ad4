/**
 * A provider over real HTTP with answers that a test replaces. By default it answers a submission
 * with `pending` and every read with `approved`.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { formatTimestamp } from "@countersign/protocol";
import type { Lifetime } from "../../server/test/support/test-provider.ts";

export type Kind = "create" | "read" | "cancel" | "consume";

export interface Exchange {
  readonly kind: Kind;
  readonly key: string | undefined;
  readonly path: string;
  /** As it was sent. */
  readonly body: string;
  /** The answer of a correct provider. */
  readonly correctAnswer: string;
  readonly response: ServerResponse;
}

export interface MisbehavingProvider {
  readonly url: string;
  /** Kinds of all exchanges, in order. */
  readonly seen: readonly Kind[];
}

/** @returns the answer to send; undefined when the function has answered by itself */
export type Respond = (exchange: Exchange) => string | undefined;

export const ID = "0197f3c5-3e7c-7a7e-8d3b-1d2a3c4b5e6f";
export const OTHER_ID = "0197f3c5-3e7c-7a7e-8d3b-ffffffffffff";

/** All times are in the past except the end of the approval's validity. */
export const CREATED_AT = Math.floor(Date.now() / 1000) * 1000 - 60_000;
export const DECIDED_AT = CREATED_AT + 30_000;
export const EXPIRES_AT = CREATED_AT + 3_600_000;

export function at(ms: number): string {
  return formatTimestamp(ms);
}

export const APPROVED = `"status":"approved","decision":{"status":"approved","decided_at":"${at(
  DECIDED_AT,
)}","expires_at":"${at(EXPIRES_AT)}"}`;

export async function startMisbehavingProvider(
  t: Lifetime,
  respond: Respond,
): Promise<MisbehavingProvider> {
  const seen: Kind[] = [];
  let submitted = "";
  const server = createServer(async (request, response) => {
    const kind = kindOf(request);
    seen.push(kind);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    if (kind === "create") submitted = body.slice(1, -1);
    const answer = respond({
      kind,
      body,
      correctAnswer: correctAnswer(kind, submitted),
      response,
      path: request.url ?? "",
      key: request.headers["idempotency-key"] as string | undefined,
    });
    if (answer === undefined) return;
    response.writeHead(kind === "create" ? 201 : 200, { "content-type": "application/json" });
    response.end(answer);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/aap`, seen };
}

function kindOf({ method, url }: IncomingMessage): Kind {
  if (url?.endsWith("/consume")) return "consume";
  return method === "POST" ? "create" : method === "DELETE" ? "cancel" : "read";
}

/** @param submitted members of the input, as they were sent */
function correctAnswer(kind: Kind, submitted: string): string {
  const decided = at(DECIDED_AT);
  if (kind === "consume") return `{"id":"${ID}","consumed_at":"${decided}"}`;
  const states = {
    create: '"status":"pending"',
    read: APPROVED,
    cancel: `"status":"cancelled","decision":{"status":"cancelled","decided_at":"${decided}"}`,
  };
  const times = `"created_at":"${at(CREATED_AT)}","deadline_at":"${at(EXPIRES_AT)}"`;
  return `{"id":"${ID}",${submitted},${times},${states[kind]}}`;
}
