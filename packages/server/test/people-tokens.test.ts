/**
 * Tokens with scopes, and who issues them over HTTP.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { hashToken } from "../src/secrets/token.ts";
import { assertRefused } from "./support/envelope.ts";
import { setReviewer, submitRequiring } from "./support/requirements.ts";
import { isLive, peopleOf, type WireToken } from "./support/reviewers.ts";
import { auditOf, startScene } from "./support/scene.ts";

const scene = await startScene({ after });
const { server, clock } = scene;
const { store } = server.provider.context;
const people = peopleOf(scene);
const root = await people.token("root", { role: "admin" });

const HOUR_MS = 3_600_000;

async function listed(token = root): Promise<readonly WireToken[]> {
  const answer = await server.call<{ tokens: WireToken[] }>("GET", "/review/v1/tokens", { token });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.tokens;
}

function revoke(token: string, id: string) {
  return server.call("DELETE", `/review/v1/tokens/${id}`, { token });
}

test("[ours.people.tokens] a token for a bot is answered once, listed without it and ended by its id", async () => {
  const order = { name: "deployer", groups: ["ci"], scopes: ["read", "decide:ci"] };
  const issued = await people.issue(root, { ...order, expires_in: "24h" });
  assert.equal(issued.status, 201, issued.text);
  const { token, ...rest } = issued.json;
  assert.deepEqual(rest.scopes, ["decide:ci", "read"]);
  assert.equal(rest.expires_at, new Date(clock.now() + 24 * HOUR_MS).toISOString());
  const answer = await server.call("GET", "/review/v1/tokens", { token: root });
  assert.deepEqual(
    (await listed()).find(({ id }) => id === rest.id),
    rest,
  );
  assert.ok(!answer.text.includes(token) && !answer.text.includes(hashToken(token)));
  const bot = (await people.reviewers(token)).find(({ name }) => name === "deployer");
  assert.deepEqual([bot?.kind, bot?.role, bot?.groups], ["bot", "reviewer", ["ci"]]);
  const [entry] = await auditOf(scene, `credential:${rest.id}`);
  assert.equal(entry?.actor, `reviewer:${await people.idOf("root")}`);
  assert.deepEqual(entry?.detail.scopes, ["decide:ci", "read"]);
  for (const _ of ["once", "again"]) assert.equal((await revoke(root, rest.id)).status, 204);
  assert.equal(await isLive(scene, token), false);
  assert.equal((await auditOf(scene, `credential:${rest.id}`)).length, 2);
  assert.ok((await listed()).every(({ id }) => id !== rest.id));
});

test("[ours.people.tokens] tokens of provisioners are listed, those of instances and of other projects are not", async () => {
  const { provisioner } = await server.instance();
  await people.token("stranger", { project: "elsewhere" });
  const tokens = await listed();
  assert.ok(tokens.some(({ kind }) => kind === "provisioner"));
  assert.ok(tokens.every(({ kind }) => kind !== "instance"));
  assert.ok(tokens.every(({ holder }) => holder.name !== "stranger"));
  assert.notEqual(provisioner, "");
});

test("[ours.tokens.provisioner] a token for a provisioner creates instances, and expires with the issuing token at the latest", async () => {
  const issued = await people.issue(root, { kind: "provisioner", name: "platform" });
  assert.equal(issued.status, 201, issued.text);
  const { token, ...rest } = issued.json;
  assert.deepEqual(
    [rest.kind, rest.holder.name, rest.expires_at],
    ["provisioner", "platform", null],
  );
  await server.provision(token);
  const again = await people.issue(root, { kind: "provisioner", name: "platform" });
  assert.equal(again.json.holder.id, rest.holder.id);
  const [entry] = await auditOf(scene, `provisioner:${rest.holder.id}`);
  assert.equal(entry?.actor, `reviewer:${await people.idOf("root")}`);

  const short = await people.issue(root, { expires_in: "1h" });
  const late = { kind: "provisioner", name: "late", expires_in: "2h" };
  assertRefused(await people.issue(short.json.token, late), 403, "forbidden");
  for (const [body, param] of [
    [{}, "name"],
    [{ name: "x", role: "viewer" }, "role"],
    [{ name: "x", groups: [] }, "groups"],
    [{ name: "x", scopes: ["people"] }, "scopes"],
  ] as const) {
    const order = { kind: "provisioner", ...body };
    assertRefused(await people.issue(root, order), 400, "invalid_request", param);
  }
});

test("[ours.authorization.scopes] [ours.people.tokens] an invalid token order is rejected with its field", async () => {
  for (const [body, param] of [
    [{ scopes: ["write"] }, "scopes"],
    [{ scopes: [] }, "scopes"],
    [{ scopes: "read" }, "scopes"],
    [{ scopes: [1] }, "scopes"],
    [{ scopes: ["decide:"] }, "scopes"],
    [{ name: "" }, "name"],
    [{ name: "two\nlines" }, "name"],
    [{ name: " led" }, "name"],
    [{ name: "a\u202eb" }, "name"],
    [{ name: "n".repeat(101) }, "name"],
    [{ name: "cafe\u0301" }, "name"],
    [{ name: "new", role: "king" }, "role"],
    [{ name: "new", groups: ["NO"] }, "groups"],
    [{ expires_in: "30d" }, "expires_in"],
    [{ role: "viewer" }, "role"],
    [{ groups: ["a"] }, "groups"],
    [{ unknown: 1 }, "unknown"],
  ] as const) {
    assertRefused(await people.issue(root, body), 400, "invalid_request", param);
  }
  assert.equal(await people.idOf("new"), "undefined");
});

test("[ours.authorization.scopes] a token for one group decides what asks that group, and makes no grants", async () => {
  await people.token("ana", { groups: ["dba", "finance"] });
  const narrow = await people.token("ana", { scopes: ["read", "decide:dba"] });
  const forDba = await submitRequiring(scene, { from: [["group:dba"]] });
  const forFinance = await submitRequiring(scene, { from: [["group:finance"]] });
  const forAll = await submitRequiring(scene, {});
  for (const { id } of [forFinance, forAll]) {
    for (const verdict of ["approve", "deny"] as const) {
      const answer = await server.decide(narrow, id, verdict);
      assertRefused(answer, 403, "forbidden");
      assert.match(answer.json.error.message, /decide:dba/);
    }
    const path = `/review/v1/requests/${id}`;
    const { json } = await server.call<{ may_decide: object }>("GET", path, { token: narrow });
    assert.deepEqual(json.may_decide, {
      approve: false,
      deny: false,
      reason: "The scopes of this token (decide:dba) do not cover this call.",
    });
  }
  const grant = { instance_id: scene.instance.id, tool: "*" };
  const made = await server.call("POST", "/review/v1/grants", { token: narrow, body: grant });
  assertRefused(made, 403, "forbidden");
  assert.equal((await server.decide(narrow, forDba.id, "approve")).json.status, "approved");
});

test("[ours.authorization.scopes] [ours.verdict.quorum] a vote with a narrow token counts for its group alone, also when the full one decides", async () => {
  const narrow = await people.token("eva", {
    groups: ["dba", "finance"],
    scopes: ["read", "decide:dba"],
  });
  const ben = await people.token("ben", { groups: ["dba"] });
  const { id } = await submitRequiring(scene, { from: [["group:dba"], ["group:finance"]] });
  assert.equal((await server.decide(narrow, id, "approve")).json.status, "pending");
  assert.equal((await server.decide(ben, id, "approve")).json.status, "pending");
  const full = await people.token("eva");
  assert.equal((await server.decide(full, id, "approve")).json.status, "approved");
});

test("[ours.authorization.scopes] [ours.verdict.quorum] a vote counts no further than the tokens that its voter has left", async () => {
  const full = await server.token({ kind: "reviewer", name: "dora", groups: ["dba"] });
  await people.token("dora", { scopes: ["read"] });
  const last = await people.token("last", { groups: ["dba"] });
  const { id } = await submitRequiring(scene, { from: [["group:dba"]], quorum: 2 });
  await server.decide(full, id, "approve");
  const [token] = (await listed()).filter(
    ({ holder, scopes }) => holder.name === "dora" && scopes === null,
  );
  await revoke(root, token?.id ?? "");
  assert.equal((await server.decide(last, id, "approve")).json.status, "pending");
});

test("[ours.authorization.no-more-than-own] a token issues none that may do more than itself", async () => {
  const few = await people.token("few", { role: "admin", scopes: ["people", "decide:dba"] });
  const refused = [
    {},
    { scopes: ["people", "read"] },
    { scopes: ["decide"] },
    { scopes: ["decide:finance"] },
    { scopes: ["people", "decide:dba", "decide:ops"] },
    { scopes: ["audit"] },
    { name: "helper", role: "viewer" },
    { name: "helper", role: "admin", scopes: ["people"] },
    { name: "helper", role: "reviewer", scopes: ["decide:dba"] },
    { name: "helper", role: "viewer", groups: ["finance"], scopes: ["people"] },
  ];
  for (const body of refused) assertRefused(await people.issue(few, body), 403, "forbidden");
  assert.equal(await people.idOf("helper"), "undefined");
  for (const scopes of [["people"], ["decide:dba"], ["people", "decide:dba"]]) {
    assert.equal((await people.issue(few, { scopes })).status, 201);
  }
  // The whole server is reached by a token without scopes alone.
  const operator = await people.token("op", { role: "operator" });
  assert.equal((await people.issue(operator, {})).status, 201);
  assertRefused(await people.issue(root, { name: "x", role: "operator" }), 403, "forbidden");
  const powers = ["read", "decide", "freeze", "policy", "people", "audit"];
  const scoped = await people.token("op", { scopes: powers });
  assertRefused(await people.issue(scoped, {}), 403, "forbidden");
});

test("[ours.authorization.no-more-than-own] no token outlives the token that created it", async () => {
  const expiresAt = clock.now() + HOUR_MS;
  const brief = await people.token("brief", { role: "admin", expiresAt });
  assertRefused(await people.issue(brief, { expires_in: "2h" }), 403, "forbidden");
  const heir = await people.issue(brief, {});
  assert.equal(heir.json.expires_at, new Date(expiresAt).toISOString());
  assert.equal((await people.issue(brief, { expires_in: "30m" })).status, 201);
  clock.advance(HOUR_MS);
  assert.equal(await isLive(scene, brief), false);
  assert.equal(await isLive(scene, heir.json.token), false);
});

test("[ours.authorization.no-more-than-own] a token in the name of another user, or of a removed one, is rejected", async () => {
  await people.token("victim");
  assertRefused(await people.issue(root, { name: "victim" }), 403, "forbidden");
  assert.equal((await people.issue(root, { name: "old-bot" })).status, 201);
  assert.equal((await people.remove(root, "old-bot")).status, 204);
  assertRefused(await people.issue(root, { name: "old-bot" }), 400, "invalid_request", "name");
  const bot = await people.issue(root, { name: "admin-bot", role: "admin" });
  assert.equal((await people.issue(bot.json.token, { name: "another-bot" })).status, 201);
  assertRefused(await people.issue(bot.json.token, { name: "root" }), 403, "forbidden");
});

test("[ours.authorization.no-more-than-own] an admin does not end the tokens of an operator", async () => {
  await people.token("boss", { role: "operator" });
  const theirs = (await listed()).find(({ holder }) => holder.name === "boss");
  assertRefused(await revoke(root, theirs?.id ?? ""), 403, "forbidden");
});

test("[ours.people.tokens] revoking the credential of an instance or a token of another project returns 404", async () => {
  const other = await people.token("foreign", { role: "admin", project: "elsewhere" });
  const credential = await store.get("select id from credential where kind = 'instance'");
  assertRefused(await revoke(root, String(credential?.id)), 404, "not_found");
  const [own] = await listed(other);
  assertRefused(await revoke(root, own?.id ?? ""), 404, "not_found");
});

test("[ours.authorization.no-more-than-own] a reviewer with a role lowered since the exchange started issues no token", async () => {
  const token = await people.token("falling", { role: "admin" });
  await setReviewer(store, "falling", { role: "viewer" });
  assertRefused(await people.issue(token, {}), 403, "forbidden");
});

test("[ours.authorization.scopes] reading takes the scope `read`, whatever other scopes a token has", async () => {
  const writer = await people.token("writer", { role: "admin", scopes: ["decide", "policy"] });
  for (const path of ["requests", "policy", "reviewers", "groups", "instances", "freezes"]) {
    const answer = await server.call("GET", `/review/v1/${path}`, { token: writer });
    assertRefused(answer, 403, "forbidden");
  }
  const body = { source: "version: 1\nrules: []\n" };
  const simulated = { token: writer, body };
  assertRefused(
    await server.call("POST", "/review/v1/policy/simulate", simulated),
    403,
    "forbidden",
  );
  assert.equal((await server.call("POST", "/review/v1/policy/check", simulated)).status, 200);
});

test("[ours.authorization.no-more-than-own] a bot and a narrow token cannot invite a reviewer with more permissions", async () => {
  const invite = (token: string, body: object) =>
    server.call<ErrorResponse>("POST", "/review/v1/invitations", { token, body });
  const bot = await people.token("inviting bot", { role: "admin", isBot: true });
  const byBot = await invite(bot, { name: "puppet" });
  assertRefused(byBot, 403, "forbidden");
  assert.match(byBot.json.error.message, /^Bots cannot create invitations/);
  const scopes = ["people", "decide:dba"];
  const narrow = await people.token("inviter", { role: "admin", scopes });
  assertRefused(await invite(narrow, { name: "puppet", role: "viewer" }), 403, "forbidden");
  const reading = await people.token("inviter", { scopes: [...scopes, "read"] });
  for (const authorization of [{ role: "reviewer" }, { role: "viewer", groups: ["finance"] }]) {
    assertRefused(await invite(reading, { name: "puppet", ...authorization }), 403, "forbidden");
  }
  const authorization = { name: "reader", role: "viewer", groups: ["dba"] };
  assert.equal((await invite(reading, authorization)).status, 201);
});
