/** Absences where replicas share one PostgreSQL, with the database's clock. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ShownAbsence } from "@countersign/review-api";
import { callAs, newPerson } from "./support/people.ts";
import { startReplicas } from "./support/replicas.ts";
import { auditOf } from "./support/scene.ts";
import type { TestProvider } from "./support/test-provider.ts";

const { servers } = await startReplicas({ after }, 2);
const [here, there] = servers as [TestProvider, TestProvider];

test("[ours.absence.ended] replicas share absences, and concurrent changes leave one, all audited", async () => {
  const ana = await newPerson(here, { login: "ana" });
  await newPerson(here, { login: "ben" });
  const now = Date.now();
  const set = (server: TestProvider, untilMs: number) => {
    const body = {
      from: new Date(now - 60_000).toISOString(),
      until: new Date(now + untilMs).toISOString(),
      substitute: "ben",
    };
    return callAs(server, ana, "PUT", "/absence", { body });
  };
  const set2 = await Promise.all([set(here, 3_600_000), set(there, 7_200_000)]);
  assert.deepEqual(
    set2.map(({ status }) => status),
    [200, 200],
  );
  const list = async () =>
    (await callAs<{ absences: ShownAbsence[] }>(there, ana, "GET", "/absences")).json.absences;
  const [absence, ...others] = await list();
  assert.deepEqual([absence?.absent, absence?.substitute?.name], [true, "ben"]);
  assert.equal(others.length, 0);
  assert.deepEqual((await callAs(here, ana, "DELETE", "/absence")).json, { ended: true });
  assert.deepEqual(await list(), []);
  const entries = await auditOf({ server: here }, `reviewer:${absence?.reviewer.id}`);
  assert.deepEqual(
    entries.map(({ kind }) => kind).filter((kind) => kind.startsWith("absence.")),
    ["absence.set", "absence.changed", "absence.ended"],
  );
});
