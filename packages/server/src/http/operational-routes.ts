/**
 * What operators and their machines ask for: liveness, readiness, metrics and the description
 * of the contract. Without credentials; nothing here tells of requests or people.
 */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../context.ts";
import type { Report } from "../report.ts";
import { sendJson } from "./exchange.ts";

/** A published package brings a copy along; in the repository there is the one. */
const COPY = join(import.meta.dirname, "../contract/openapi.yaml");
const OPENAPI_FILE = existsSync(COPY)
  ? COPY
  : join(import.meta.dirname, "../../../../contract/openapi.yaml");

/** The paths of the contract are relative to this address. */
const SERVERS = "\nservers:\n  - url: ";

export interface OperationalState {
  /** False from the moment at which the server begins to stop. */
  readonly accepting: () => boolean;
}

/** Anybody may ask, and a check costs a write to disk. */
const CHECK_MS = 1_000;

/** Answers the same for a while, the failure too. */
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
      throw new Problem("unavailable", "The server is stopping.", { retryAfterS: 5 });
    }
    await check();
    return sendJson(reply, 200, '{"status":"ready"}');
  });

  app.get("/metrics", { config: { operation: "metrics" } }, async (_, reply) =>
    reply.header("content-type", report.metricsContentType).send(await report.metrics()),
  );

  app.get("/openapi.yaml", { config: { operation: "openapi" } }, async (_, reply) => {
    const text = await readFile(OPENAPI_FILE, "utf8");
    const { pathPrefix } = context.settings;
    const served = text.replace(`${SERVERS}/\n`, () => `${SERVERS}${pathPrefix || "/"}\n`);
    return reply.header("content-type", "application/yaml").send(served);
  });
}
