/**
 * Concurrent requests of an identity provider on PostgreSQL, where transactions do not wait for
 * each other as they do on SQLite.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startReplicas } from "./support/replicas.ts";
import { type ScimAnswer, ScimClient } from "./support/scim.ts";
import type { TestProvider } from "./support/test-provider.ts";

const { servers } = await startReplicas({ after }, 1);
const [server] = servers as [TestProvider];
const scim = await ScimClient.create(server);

/** Creates the users at the same time. One of them must succeed. */
async function race(bodies: readonly object[]): Promise<void> {
  const answers = await Promise.all(bodies.map((body) => scim.call("POST", "/Users", body)));
  const outcomes = answers
    .map(({ status, json }: ScimAnswer) => `${status} ${json.scimType}`)
    .sort();
  const refused = bodies.slice(1).map(() => "409 uniqueness");
  assert.deepEqual(outcomes, ["201 undefined", ...refused]);
}

const TRIES = Array.from({ length: 10 }, (_, i) => i);

test("[ours.scim.protocol] of concurrent creations of one user, one succeeds and the others get 409 uniqueness", async () => {
  for (const i of TRIES) {
    const body = { userName: `same${i}`, externalId: `same${i}` };
    await race([body, body, body, body]);
  }
});

test("[ours.scim.protocol] of concurrent creations with one externalId or one userName, one succeeds", async () => {
  for (const i of TRIES) {
    await race([1, 2, 3, 4].map((n) => ({ userName: `id${i}-${n}`, externalId: `id${i}` })));
    await race([1, 2, 3, 4].map((n) => ({ userName: `name${i}`, externalId: `name${i}-${n}` })));
  }
});

test("[ours.scim.protocol] of concurrent creations of a deleted user, one gets the account", async () => {
  for (const i of TRIES) {
    const body = { userName: `back${i}`, externalId: `back${i}` };
    const made = await scim.call("POST", "/Users", body);
    await scim.call("DELETE", `/Users/${made.json.id}`);
    await race([1, 2, 3, 4].map((n) => ({ ...body, userName: `back${i}-${n}` })));
  }
});
