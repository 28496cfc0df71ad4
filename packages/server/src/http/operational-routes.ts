/**
 * Routes for operators and monitoring: liveness, readiness, metrics and the API descriptions. They
 * need no credential and return nothing about requests or users.
 */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "@countersign/protocol";
import { assertKnownParameters, REVIEW_PATH } from "@countersign/review-api";
import type { FastifyInstance } from "fastify";
import type { Context } from "../context.ts";
import type { Report } from "../report.ts";
import { sendJson } from "./exchange.ts";

/** A published package contains a copy; the repository has the original. */
function descriptionFile(name: string): string {
  const copy = join(import.meta.dirname, "../contract", name);
  return existsSync(copy) ? copy : join(import.meta.dirname, "../../../../contract", name);
}

const OPENAPI_FILE = descriptionFile("openapi.yaml");
const REVIEW_OPENAPI_FILE = descriptionFile("review.openapi.yaml");

/** The paths of the contract are relative to this address. */
const SERVERS = "\nservers:\n  - url: ";

export interface OperationalState {
  /** False once the server starts to stop. */
  readonly accepting: () => boolean;
}

/** Readiness needs no credential, and a check costs a write to disk. */
const CHECK_MS = 1_000;

/** Caches the result for a short time, including a failure. */
function cachedCheck({ store, clock }: Context): () => Promise<void> {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let result = Promise.resolve();
  return () => {
    const now = clock.now();
    if (Math.abs(now - checkedAt) >= CHECK_MS) {
      checkedAt = now;
      result = store.check();
    }
    return result;
  };
}

export function addOperationalRoutes(
  app: FastifyInstance,
  context: Context,
  report: Report,
  state: OperationalState,
): void {
  const check = cachedCheck(context);

  app.get("/healthz", { config: { operation: "healthz" } }, async (_, reply) =>
    sendJson(reply, 200, '{"status":"ok"}'),
  );

  app.get("/readyz", { config: { operation: "readyz" } }, async (_, reply) => {
    if (!state.accepting()) {
      throw new Problem("unavailable", "The server is stopping. Retry in a few seconds.", {
        retryAfterS: 5,
      });
    }
    await check();
    return sendJson(reply, 200, '{"status":"ready"}');
  });

  app.get("/metrics", { config: { operation: "metrics" } }, async ({ headers }, reply) => {
    const { contentType, text } = await report.metrics(headers.accept);
    return reply.header("content-type", contentType).send(text);
  });

  app.get("/openapi.yaml", { config: { operation: "openapi" } }, async (_, reply) => {
    const text = await readFile(OPENAPI_FILE, "utf8");
    const { pathPrefix } = context.settings;
    const served = text.replace(`${SERVERS}/\n`, () => `${SERVERS}${pathPrefix || "/"}\n`);
    return reply.header("content-type", "application/yaml").send(served);
  });

  let reviewDescription: string | undefined;
  const config = { operation: "reviewOpenapi" };
  app.get(`${REVIEW_PATH}/openapi.json`, { config }, async (request, reply) => {
    assertKnownParameters(request.query as object, []);
    reviewDescription ??= await reviewOpenApi(context.settings.pathPrefix);
    return sendJson(reply, 200, reviewDescription);
  });
}

/** The description of the reviewer API, with its base path. */
async function reviewOpenApi(pathPrefix: string): Promise<string> {
  // Loaded with the first answer, because its modules would slow down every start.
  const { parse } = await import("yaml");
  const description = parse(await readFile(REVIEW_OPENAPI_FILE, "utf8")) as object;
  return JSON.stringify({ ...description, servers: [{ url: pathPrefix || "/" }] });
}
