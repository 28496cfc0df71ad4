import assert from "node:assert/strict";
import { after, test } from "node:test";
import { SESSION_FRESH_MS } from "../src/core/session.ts";
import { assertRefused } from "./support/envelope.ts";
import { callAs, newPerson } from "./support/people.ts";
import { startScene } from "./support/scene.ts";

const { server, clock } = await startScene({ after });
const admin = await newPerson(server, { login: "ana@example.com", role: "admin" });

test("[ours.people.fresh] what outlives a session is made by who has just signed in", async () => {
  const makers = [
    ["/tokens", { name: "night-watch" }],
    ["/instances", {}],
    ["/invitations", { name: "Li", role: "viewer" }],
  ] as const;
  for (const [path, body] of makers) {
    const made = await callAs(server, admin, "POST", path, { body });
    assert.equal(made.status, 201, made.text);
  }
  clock.advance(SESSION_FRESH_MS);
  for (const [path, body] of makers) {
    const refused = await callAs(server, admin, "POST", path, { body });
    assertRefused(refused, 403, "forbidden");
    assert.match(refused.text, /sign in again, then/);
  }
  assert.equal((await callAs(server, admin, "GET", "/tokens")).status, 200);
});

test("[ours.people.fresh] an open browser can remove powers, but not add any", async () => {
  const boss = await newPerson(server, { login: "boss", role: "admin" });
  await newPerson(server, { login: "mallory", role: "viewer", groups: ["app"] });
  const { reviewers } = (
    await callAs<{ reviewers: readonly { readonly id: string; readonly name: string }[] }>(
      server,
      boss,
      "GET",
      "/reviewers",
    )
  ).json;
  const { id } = reviewers.find(({ name }) => name === "mallory") ?? assert.fail();
  const change = (body: object) => callAs(server, boss, "PATCH", `/reviewers/${id}`, { body });
  assert.equal((await change({ role: "reviewer", groups: ["app", "dba"] })).status, 200);
  clock.advance(SESSION_FRESH_MS);
  for (const more of [{ role: "admin" }, { groups: ["app", "dba", "lead"] }]) {
    const refused = await change(more);
    assertRefused(refused, 403, "forbidden");
    assert.match(refused.text, /sign in again, then/);
  }
  assert.equal((await change({ role: "viewer", groups: [] })).status, 200);
});
