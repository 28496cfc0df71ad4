/**
 * A wait for a reviewer, written for DBOS: a workflow that waits in `recv` for the verdict that
 * another exchange sends it. A child process of the benchmark.
 *
 * Called with the URL of its database and the number of connections that it may have.
 */

import { createServer } from "node:http";
import { DBOS } from "@dbos-inc/dbos-sdk";

const [url, connections] = process.argv.slice(2);

DBOS.setConfig({
  name: "bench",
  systemDatabaseUrl: url,
  systemDatabasePoolSize: Number(connections),
  logLevel: "error",
});

const WAIT_S = 3_600;

const approve = DBOS.registerWorkflow(
  async () => (await DBOS.recv("verdict", WAIT_S)) ?? { status: "expired" },
  { name: "approve" },
);

await DBOS.launch();

/** Handles of this process, which learn of the end without asking the database. */
const started = new Map();

const ROUTES = {
  async create(id, call) {
    started.set(id, await DBOS.startWorkflow(approve, { workflowID: id })(call));
    return { id, status: "pending" };
  },
  async verdict(id, verdict) {
    await DBOS.send(id, verdict, "verdict");
    return verdict;
  },
  async result(id) {
    const result = await started.get(id).getResult();
    started.delete(id);
    return result;
  },
};

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const [, route, id] = request.url.split("/");
  const text = Buffer.concat(chunks).toString("utf8");
  const respond = (status, body) => {
    const bytes = Buffer.from(JSON.stringify(body));
    response.writeHead(status, { "content-length": bytes.length });
    response.end(bytes);
  };
  try {
    respond(200, await ROUTES[route](id, text === "" ? undefined : JSON.parse(text)));
  } catch (error) {
    respond(500, { error: String(error) });
  }
});

server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.once("disconnect", () => process.exit());
