/**
 * The baseline: the minimum that this framework does for a body. Parses JSON, returns it as JSON.
 * No authentication, no storage, no log. Runs as a child process of the benchmark.
 */

import type { AddressInfo } from "node:net";
import { fastify } from "fastify";

const app = fastify({ logger: false });
app.post("/echo", async (request) => request.body);
await app.listen({ host: "127.0.0.1", port: 0 });

process.once("disconnect", () => process.exit());
process.send?.({ port: (app.server.address() as AddressInfo).port });
