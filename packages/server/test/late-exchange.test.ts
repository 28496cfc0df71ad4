import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { createHttpServer } from "../src/http/create-http-server.ts";
import { Report, readConfig, toSettings } from "../src/index.ts";

test("[ours.exchange.late] a request that arrives too slowly returns 503 with Retry-After, because the server may have paused", async () => {
  const report = new Report("silent", { write: () => {} });
  const app = createHttpServer(toSettings(readConfig({}, {})), report);
  await app.ready();
  const socket = new PassThrough();

  // Node emits this for headers that take longer than 10 s, or a body that takes longer than 30 s.
  const late = Object.assign(new Error("late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" });
  app.server.emit("clientError", late, socket);

  let text = "";
  for await (const chunk of socket.setEncoding("utf8")) text += chunk;
  const [head = "", body = ""] = text.split("\r\n\r\n");
  assert.match(head, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
  assert.match(head, /\r\nRetry-After: [1-9]\d*\r\n/);
  assert.match(head, /\r\nConnection: close$/);
  const { error } = JSON.parse(body) as ErrorResponse;
  assert.deepEqual([error.type, error.code], ["dependency", "unavailable"]);
  assert.ok(head.includes(`X-Request-ID: ${error.request_id}\r\n`));
  await app.close();
});
