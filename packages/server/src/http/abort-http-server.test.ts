import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { connectRaw } from "../../test/support/raw-connection.ts";
import { readConfig } from "../config/read-config.ts";
import { toSettings } from "../config/settings.ts";
import { Report } from "../report.ts";
import { abortHttpServer } from "./abort-http-server.ts";
import { createHttpServer } from "./create-http-server.ts";

test("[ours.operations.first-start] aborting a server does not wait for an open exchange", async (t) => {
  const report = new Report("silent", { write: () => {} });
  const app = createHttpServer(toSettings(readConfig({}, {})), report);
  const entered = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<string>();
  t.after(() => answer.resolve("late"));
  app.get("/poll", () => {
    entered.resolve();
    return answer.promise;
  });
  // Otherwise the server closes the silent connection by itself.
  app.server.timeout = 0;
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const connection = await connectRaw(t, `http://127.0.0.1:${port}`);
  connection.send("GET /poll HTTP/1.1\r\nhost: x\r\n\r\n");
  await entered.promise;
  await abortHttpServer(app);
  assert.equal(await connection.rest(), "");
  assert.equal(app.server.listening, false);
});
