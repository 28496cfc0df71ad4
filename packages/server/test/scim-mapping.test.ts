/** Settings and limits that change what SCIM requests do. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { restart, startScene } from "./support/scene.ts";
import { rolesOf, ScimClient } from "./support/scim.ts";
import { startTestProvider } from "./support/test-provider.ts";

test("[ours.scim.roles] after the mapping of groups changed, an unchanged user gets the new roles with the next request", async (t) => {
  const scene = await startScene(t, { settings: { oidc_roles: "approvers=reviewer" } });
  const first = await ScimClient.create(scene.server);
  const id = await first.user("mapped");
  await first.group("approvers", [id]);
  assert.deepEqual(await rolesOf(scene.server, id), ["default reviewer []"]);
  const { server } = await restart(t, scene, { oidc_roles: "approvers=auditor" });
  const second = await ScimClient.create(server);
  const { json } = await second.call("GET", `/Users/${id}`);
  assert.equal((await second.call("PUT", `/Users/${id}`, json)).status, 200);
  assert.deepEqual(await rolesOf(server, id), ["default auditor []"]);
});

test("[ours.scim.token] a large body of SCIM counts as many requests", async (t) => {
  const server = await startTestProvider(t, { settings: { provisioner_rate: "10" } });
  const scim = await ScimClient.create(server);
  const schemas = ["x".repeat(500_000)];
  const large = await scim.call("POST", "/Users", { userName: "large", schemas });
  assert.notEqual(large.status, 429);
  assert.equal((await scim.call("GET", "/Users")).status, 429);
});
