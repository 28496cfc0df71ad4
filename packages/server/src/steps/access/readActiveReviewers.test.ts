import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { newPerson } from "../../../test/support/people.ts";
import { openTestContext } from "../../../test/support/test-context.ts";
import { createToken, type TokenOrder } from "../../operations/tokens/createToken.ts";
import { revokeToken } from "../../operations/tokens/revokeToken.ts";
import { readActiveReviewers } from "./readActiveReviewers.ts";

const clock = new ManualClock();
const context = await openTestContext({ after }, clock);
const { store } = context;

function issue(name: string, order: Partial<TokenOrder> = {}) {
  const defaults = { kind: "reviewer", name, project: "default", expiresAt: null } as const;
  return createToken(context, { ...defaults, ...order });
}

function run(sql: string, ...values: (string | number | null)[]): Promise<number> {
  return store.transact((tx) => tx.run(sql, values));
}

/** The active reviewers among all: for each name, the scopes of every way to sign in. */
async function active(): Promise<Record<string, unknown>> {
  const rows = await store.all("select project_id, id from reviewer");
  const [first] = rows;
  const ids = rows.map(({ id }) => String(id));
  const found = await readActiveReviewers(store, String(first?.project_id), ids, clock.now());
  return Object.fromEntries(found.map(({ name, ways }) => [name, ways]));
}

test("[ours.verdict.quorum] an active reviewer has a live token or signs in, and is neither removed nor disabled", async () => {
  const { id: anas } = await issue("ana");
  await issue("ana", { scopes: ["decide:dba", "read"] });
  const { id: bens } = await issue("ben");
  await issue("brief", { expiresAt: clock.now() + 1_000 });
  const dora = await newPerson({ provider: { context } }, { login: "dora" });
  const eve = await newPerson({ provider: { context } }, { login: "eve" });
  await issue("eve", { scopes: ["read"] });
  const narrow = ["decide:dba", "read"];
  const all = {
    ana: [null, narrow],
    ben: [null],
    brief: [null],
    dora: [null],
    eve: [null, ["read"]],
  };
  assert.deepEqual(await active(), all);

  clock.advance(1_000);
  await revokeToken(context, anas);
  await revokeToken(context, bens);
  const { ben: _, brief: __, ...left } = { ...all, ana: [narrow] };
  assert.deepEqual(await active(), left, "without revoked and expired tokens");

  await run("update person set disabled_at = 1 where id = $1", eve.id);
  const { eve: ___, ...enabled } = left;
  assert.deepEqual(await active(), enabled, "a disabled user is not active, despite tokens");

  await run("update reviewer set removed_at = 1 where person_id = $1", dora.id);
  assert.deepEqual(await active(), { ana: [narrow] });
});

test("[ours.verdict.quorum] only requested reviewers of the project are returned", async () => {
  await issue("stranger", { project: "elsewhere" });
  const rows = await store.all("select project_id, id from reviewer where name = 'stranger'");
  const [{ project_id: elsewhere, id } = {}] = rows;
  const names = async (projectId: unknown, ids: string[]) =>
    (await readActiveReviewers(store, String(projectId), ids, clock.now())).map(({ name }) => name);
  assert.deepEqual(await names(elsewhere, [String(id)]), ["stranger"]);
  assert.deepEqual(await names("another", [String(id)]), []);
  assert.deepEqual(await names(elsewhere, []), []);
});
