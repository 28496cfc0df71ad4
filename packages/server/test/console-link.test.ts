/** The header `Link` from a request of the contract to its page in the console. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApprovalRequest, ProvisionInstanceResponse } from "@countersign/protocol";
import { createHttpServer } from "../src/http/create-http-server.ts";
import { Report } from "../src/index.ts";
import { addRoutes } from "../src/provider.ts";
import { cancel, startScene, submitBody, UNKNOWN_ID } from "./support/scene.ts";
import { projectPath } from "./support/test-projects.ts";
import { type Answer, SUBMISSION, startTestProvider } from "./support/test-provider.ts";

/** The reference in the header, which must have the form that the documentation states. */
function targetOf({ headers }: Pick<Answer, "headers">): string {
  const link = headers.get("link") ?? "";
  const target = /^<([^<>]*)>; rel="alternate"; type="text\/html"$/.exec(link)?.[1];
  return target ?? assert.fail(`unexpected Link: ${link}`);
}

/** Where a client finds the console that requests a server below `base`. */
function resolve(answer: Answer, base: string, path: string): string {
  return new URL(targetOf(answer), base + path).href;
}

test("[ours.agent.review-link] creating, replaying and reading a request return the address of its page", async (t) => {
  const { server, instance } = await startScene(t);
  const { token } = instance;
  const created = await submitBody(server, token, SUBMISSION, "once");
  const replayed = await submitBody(server, token, SUBMISSION, "once");
  assert.deepEqual([created.status, replayed.status], [201, 200]);
  const { id } = created.json;
  const page = `${server.url}${await projectPath(server)}/inbox/${id}`;
  for (const answer of [created, replayed]) {
    assert.equal(resolve(answer, server.url, "/v1/requests"), page);
  }
  await cancel(server, token, id);
  for (const path of [`/v1/requests/${id}`, `/v1/requests/${id}?wait=1s`]) {
    const read = await server.call("GET", path, { token });
    assert.equal(resolve(read, server.url, path), page);
  }
  const shown = await fetch(page);
  assert.equal(shown.status, 200);
  assert.match(shown.headers.get("content-type") ?? "", /^text\/html/);
});

test("[ours.agent.review-link] without public_url the link stays below the path that a proxy adds", async (t) => {
  const { server, instance } = await startScene(t);
  const created = await submitBody(server, instance.token, SUBMISSION);
  const path = `/v1/requests/${created.json.id}`;
  const read = await server.call("GET", path, { token: instance.token });
  const base = "https://proxy.example/tools/approvals";
  const page = `${base}${await projectPath(server)}/inbox/${created.json.id}`;
  assert.equal(resolve(created, base, "/v1/requests"), page);
  assert.equal(resolve(read, base, path), page);
});

test("[ours.agent.review-link] with path_prefix the link leads to the root, where the console is", async (t) => {
  const prefix = "/api/aap";
  const server = await startTestProvider(t, { settings: { path_prefix: prefix } });
  const provisioner = await server.token({ kind: "provisioner" });
  const instance = { token: provisioner, key: "instance", body: {} };
  const { json } = await server.call<ProvisionInstanceResponse>(
    "POST",
    `${prefix}/v1/instances`,
    instance,
  );
  const { token } = json.credential;
  const create = { token, key: "request", body: SUBMISSION };
  const created = await server.call<ApprovalRequest>("POST", `${prefix}/v1/requests`, create);
  const page = `${server.url}${await projectPath(server)}/inbox/${created.json.id}`;
  assert.equal(resolve(created, server.url, `${prefix}/v1/requests`), page);
  const path = `${prefix}/v1/requests/${created.json.id}`;
  assert.equal(resolve(await server.call("GET", path, { token }), server.url, path), page);
});

test("[ours.agent.review-link] with public_url the link is absolute and ASCII", async (t) => {
  const settings = { public_url: "https://freigabe-büro.example/übersicht/" };
  const { server, instance } = await startScene(t, { settings });
  const created = await submitBody(server, instance.token, SUBMISSION);
  assert.equal(created.status, 201, created.text);
  const { href } = new URL(
    `https://freigabe-büro.example/übersicht${await projectPath(server)}/inbox/${created.json.id}`,
  );
  assert.match(
    href,
    /^https:\/\/xn--[a-z0-9-]+\.example\/%C3%BCbersicht\/p\/[0-9a-f]{16}\/inbox\//,
  );
  assert.equal(targetOf(created), href);
});

test("[ours.agent.review-link] other responses have no link", async (t) => {
  const { server, instance, reviewer } = await startScene(t);
  const { token } = instance;
  const request = await server.submit(token);
  const stranger = await server.instance();
  const path = `/v1/requests/${request.id}`;
  const others = [
    await server.call("GET", path, { token: stranger.token }),
    await server.call("GET", path, { token: reviewer }),
    await server.call("GET", path),
    await server.call("GET", `/v1/requests/${UNKNOWN_ID}`, { token }),
    await server.call("GET", `${path}?wait=never`, { token }),
    await submitBody(server, token, { ...SUBMISSION, tool: "" }),
    await cancel(server, token, request.id),
  ];
  assert.deepEqual(
    others.map(({ status, headers }) => [status, headers.get("link")]),
    [404, 403, 401, 404, 400, 400, 200].map((status) => [status, null]),
  );
});

test("[ours.agent.review-link] a server without the console returns no link", async (t) => {
  const { server, instance } = await startScene(t);
  const { context } = server.provider;
  const { id } = await server.submit(instance.token);
  const report = new Report("silent", { write: () => {} });
  const app = createHttpServer(context.settings, report);
  const publicUrl = () => server.url;
  addRoutes(app, context, report, { accepting: () => true, publicUrl, consoleFolder: undefined });
  const headers = { authorization: `Bearer ${instance.token}` };
  const answer = await app.inject({ url: `/v1/requests/${id}`, headers });
  const page = await app.inject({ url: `${await projectPath(server)}/inbox/${id}` });
  await app.close();
  assert.deepEqual([answer.statusCode, answer.headers.link], [200, undefined]);
  assert.equal(page.statusCode, 503);
});
