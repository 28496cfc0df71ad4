/**
 * What operators and their machines ask for: liveness, readiness, metrics and the description
 * of the contract. Without credentials; nothing here tells of requests or people.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../context.ts";
import type { Report } from "../report.ts";
import { sendJson } from "./exchange.ts";

const OPENAPI_FILE = join(import.meta.dirname, "../../../../contract/openapi.yaml");

export interface OperationalState {
  /** False from the moment at which the server begins to stop. */
  readonly accepting: () => boolean;
}

export function addOperationalRoutes(
  app: FastifyInstance,
  context: Context,
  report: Report,
  state: OperationalState,
): void {
  app.get("/healthz", { config: { operation: "healthz" } }, async (_, reply) =>
    sendJson(reply, 200, '{"status":"ok"}'),
  );

  app.get("/readyz", { config: { operation: "readyz" } }, async (_, reply) => {
    if (!state.accepting()) {
      throw new Problem("unavailable", "The server is stopping.", { retryAfterS: 5 });
    }
    await context.store.check();
    return sendJson(reply, 200, '{"status":"ready"}');
  });

  app.get("/metrics", { config: { operation: "metrics" } }, async (_, reply) =>
    reply.header("content-type", report.metricsContentType).send(await report.metrics()),
  );

  app.get("/openapi.yaml", { config: { operation: "openapi" } }, async (_, reply) =>
    reply.header("content-type", "application/yaml").send(await readFile(OPENAPI_FILE)),
  );
}
