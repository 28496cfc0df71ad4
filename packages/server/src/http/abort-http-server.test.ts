import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { connectRaw } from "../../test/support/raw-connection.ts";
import { readConfig } from "../config/read-config.ts";
import { toSettings } from "../config/settings.ts";
import { Report } from "../report.ts";
import { abortHttpServer } from "./abort-http-server.ts";
import { createHttpServer } from "./create-http-server.ts";

/** Creates a server with one route, which answers when the test resolves `answer`. */
function createPolledServer(t: TestContext) {
  const report = new Report("silent", { write: () => {} });
  const app = createHttpServer(toSettings(readConfig({}, {})), report);
  const entered = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<string>();
  t.after(() => answer.resolve("late"));
  app.get("/poll", () => {
    entered.resolve();
    return answer.promise;
  });
  const poll = async () => {
    const { port } = app.server.address() as AddressInfo;
    const connection = await connectRaw(t, `http://127.0.0.1:${port}`);
    connection.send("GET /poll HTTP/1.1\r\nhost: x\r\n\r\n");
    return connection;
  };
  // Otherwise the server closes the silent connection by itself.
  app.server.timeout = 0;
  return { app, entered: entered.promise, answer, poll };
}

test("[ours.operations.first-start] aborting a server does not wait for an open exchange", async (t) => {
  const { app, entered, poll } = createPolledServer(t);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const connection = await poll();
  await entered;
  await abortHttpServer(app);
  assert.equal(await connection.rest(), "");
  assert.equal(app.server.listening, false);
});

test("[ours.operations.first-start] aborting a server closes a connection that a client opens before the port is closed", async (t) => {
  const { app, entered, answer, poll } = createPolledServer(t);
  let outcome: string | undefined;
  app.addHook("preClose", async () => {
    const connection = await poll();
    outcome = await Promise.race([entered.then(() => "entered"), connection.rest()]);
    answer.resolve("late");
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  await abortHttpServer(app);
  assert.equal(outcome, "");
});
