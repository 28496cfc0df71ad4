/** Resources that the server holds for clients that do not read their answer, or disconnect. */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { createHttpServer } from "../src/http/create-http-server.ts";
import { sendJson } from "../src/http/exchange.ts";
import type { ReviewerCaller } from "../src/identity/caller.ts";
import { Report, readConfig, toSettings } from "../src/index.ts";
import { eventHandlers } from "../src/review/live/event-handlers.ts";
import { connectRaw } from "./support/raw-connection.ts";
import { startTestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

const GET = "GET /answer HTTP/1.1\r\nHost: a\r\n\r\n";
const LARGE = JSON.stringify({ text: "a".repeat(8_000_000) });

type Answer = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

async function serve(t: TestContext, handler: (...exchange: Parameters<Answer>) => unknown) {
  const report = new Report("silent", { write: () => {} });
  const app = createHttpServer(toSettings(readConfig({}, {})), report);
  t.after(() => app.close());
  app.get("/answer", async (request, reply) => handler(request, reply));
  app.get("/small", (_, reply) => sendJson(reply, 200, "{}"));
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { app, report, url: `http://127.0.0.1:${port}` };
}

/** Connects a client that reads nothing. */
async function connect(t: TestContext, url: string) {
  const connection = await connectRaw(t, url);
  connection.socket.pause();
  connection.socket.on("error", () => {});
  return connection;
}

/** Resolves when the server has noticed that the client is gone. */
async function requestAndDisconnect(
  t: TestContext,
  { server }: FastifyInstance,
  url: string,
): Promise<void> {
  const { socket } = await connect(t, url);
  const requested = once(server, "request");
  socket.write(GET);
  const [, response] = await requested;
  const closed = once(response, "close");
  // The server keeps a connection that only closed its side.
  socket.resetAndDestroy();
  await closed;
}

test("[ours.exchange.slow] an answer that is ready after its client disconnected is not counted as unread", async (t) => {
  const disconnected = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const { app, url } = await serve(t, async (_, reply) => {
    await disconnected.promise;
    const sent = sendJson(reply, 200, LARGE);
    answered.resolve();
    return sent;
  });
  await requestAndDisconnect(t, app, url);
  disconnected.resolve();
  await answered.promise;
  assert.equal(app.unread.chars, 0);
});

test("[ours.exchange.slow] unread responses use bounded memory until their client disconnects; small responses continue", async (t) => {
  const { app, url } = await serve(t, (_, reply) => sendJson(reply, 200, LARGE));
  const statusOf = async (path: string) => {
    const response = await fetch(url + path);
    await response.arrayBuffer();
    return response.status;
  };
  const { socket } = await connect(t, url);
  socket.write(GET.repeat(20));
  await until(() => app.unread.chars === 16 * LARGE.length, "128 Mi characters are unread");
  assert.equal(await statusOf("/answer"), 503);
  assert.equal(await statusOf("/small"), 200);
  socket.destroy();
  await until(() => app.unread.chars === 0, "nothing is unread");
  assert.equal(await statusOf("/answer"), 200);
});

test("[ours.events.bounded] readers that disconnect before their stream opens do not use up the eight streams", async (t) => {
  const { provider } = await startTestProvider(t);
  const { store } = provider.context;
  const project = await store.get("select id from project", []);
  const caller: ReviewerCaller = {
    kind: "reviewer",
    credentialId: "token",
    projectId: String(project?.id),
    reviewerId: "reviewer",
    name: "ana",
    role: "reviewer",
    groups: [],
    isBot: false,
    scopes: null,
    personId: null,
    session: null,
  };
  const disconnected = Promise.withResolvers<void>();
  const opened: Promise<unknown>[] = [];
  const { app, report, url } = await serve(t, (request, reply) => {
    const opening = disconnected.promise.then(() => follow(request, reply));
    opened.push(opening);
    return opening;
  });
  const gate = { reauthenticate: async () => caller };
  const handlers = eventHandlers(provider.context, gate, report, (stop) => t.after(stop));
  const follow = (request: FastifyRequest, reply: FastifyReply) =>
    handlers.followEvents({
      caller,
      path: {},
      query: {},
      body: undefined,
      idempotencyKey: undefined,
      request,
      reply,
    });
  for (let count = 0; count < 8; count++) {
    await requestAndDisconnect(t, app, url);
  }
  disconnected.resolve();
  await Promise.all(opened);
  const abort = new AbortController();
  const response = await fetch(`${url}/answer`, { signal: abort.signal });
  abort.abort();
  assert.equal(response.status, 200);
});
