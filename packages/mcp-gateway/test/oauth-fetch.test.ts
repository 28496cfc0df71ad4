/** The limits of requests to authorization servers. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { Owner } from "@countersign/testing/child";
import { createOauthFetch } from "../src/oauth/discovery.ts";

async function serve(
  to: Owner,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  to.after(async () => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("[ours.mcp.login] a server on another machine cannot direct requests to this machine", async (t) => {
  let requests = 0;
  const url = await serve(t, (_, response) => {
    requests += 1;
    response.end("{}");
  });
  const remote = createOauthFetch("https://crm.example.com/mcp");
  await assert.rejects(remote(url), /does not use https/);
  await assert.rejects(remote("http://login.example.com/"), /does not use https/);
  await assert.rejects(remote("file:///etc/passwd"), /does not use https/);
  assert.equal(requests, 0);
  assert.equal((await createOauthFetch(`${url}/mcp`)(url)).status, 200);
});

test("[ours.mcp.login] redirects are not followed, and answers over 1 MiB are rejected", async (t) => {
  const paths: string[] = [];
  const url = await serve(t, ({ url: path = "" }, response) => {
    paths.push(path);
    if (path.startsWith("/large")) return response.end(Buffer.alloc(1_048_577));
    return response.writeHead(307, { location: "/large" }).end();
  });
  const local = createOauthFetch(url);
  assert.equal((await local(`${url}/token?code=secret`)).status, 307);
  assert.deepEqual(paths, ["/token?code=secret"]);
  await assert.rejects(local(`${url}/large?code=secret`), (error: Error) => {
    return /\/large sent more than 1 MiB/.test(error.message) && !/secret/.test(error.message);
  });
});
