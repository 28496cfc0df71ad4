/**
 * The SCIM API: its tokens, its forms, and the roles that it gives.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { parseFilter } from "../src/core/scim-filter.ts";
import { createScimToken, Report, revokeScimToken } from "../src/index.ts";
import { listScimGroups } from "../src/operations/scim/listScimGroups.ts";
import { auditOf, startScene } from "./support/scene.ts";
import { assertScimError, rolesOf, ScimClient } from "./support/scim.ts";
import { startTestProvider } from "./support/test-provider.ts";

const MAPPING = {
  oidc_roles: "platform=admin,approvers=reviewer,payers=payments:reviewer,9b1d-id=auditor",
  oidc_groups: "*",
};

const scene = await startScene({ after }, { settings: MAPPING });
const { server, clock } = scene;
const { context } = server.provider;
const scim = await ScimClient.create(server);

function status(token: string | undefined, path: string): Promise<number> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return fetch(server.url + path, { headers }).then((response) => response.status);
}

test("[ours.scim.token] only a live SCIM token opens the SCIM API, and it opens nothing else", async () => {
  const expiresAt = clock.now() + 1_000;
  const { id, token } = await createScimToken(context, { name: "one", expiresAt: null });
  const brief = await createScimToken(context, { name: "brief", expiresAt });
  assert.equal(await status(token, "/scim/v2/Users"), 200);
  assert.equal(await status(brief.token, "/scim/v2/Users"), 200);
  const others = [
    undefined,
    scene.reviewer,
    scene.instance.token,
    scene.instance.provisioner,
    `${token.slice(0, -1)}x`,
  ];
  for (const path of ["/Users", "/Groups/1", "/Schemas", "/ServiceProviderConfig", "/other"]) {
    for (const other of others) assert.equal(await status(other, `/scim/v2${path}`), 401, path);
  }
  for (const path of ["/review/v1/requests", "/v1/requests/1"]) {
    assert.equal(await status(token, path), 401, path);
  }
  await revokeScimToken(context, id);
  assert.equal(await status(token, "/scim/v2/Users"), 401);
  clock.set(expiresAt);
  assert.equal(await status(brief.token, "/scim/v2/Users"), 401);
});

test("[ours.scim.token] failed authentications are limited by the address of the client", async (t) => {
  const limited = await startTestProvider(t, { settings: { unauthenticated_rate: "1" } });
  const statuses: number[] = [];
  for (let i = 0; i < 20 && statuses.at(-1) !== 429; i++) {
    statuses.push((await fetch(`${limited.url}/scim/v2/Users`)).status);
  }
  assert.deepEqual([statuses[0], statuses.at(-1)], [401, 429]);
});

test("[ours.scim.roles] groups give the roles and groups of the settings, and lose them at once", async () => {
  const ana = await scim.user("ana.roles", { displayName: "Ana Lima" });
  assert.deepEqual(await rolesOf(server, ana), []);
  const platform = await scim.group("platform", [ana]);
  await scim.group("payers", [ana]);
  // Ana is the only admin apart from this person.
  await scim.group("platform", [await scim.user("second.admin")]);
  assert.deepEqual(await rolesOf(server, ana), [
    'default admin ["payers","platform"]',
    'payments reviewer ["payers","platform"]',
  ]);
  const removed = await scim.patch(`/Groups/${platform}`, {
    op: "remove",
    path: `members[value eq "${ana}"]`,
  });
  assert.equal(removed.status, 200);
  assert.deepEqual(await rolesOf(server, ana), ['payments reviewer ["payers"]']);
  const shown = (await scim.call("GET", `/Users/${ana}`)).json;
  assert.deepEqual(
    shown.groups.map(({ display }) => display),
    ["payers"],
  );
});

test("[ours.scim.roles] a group without a mapping gives no role, and the name of a role gives none", async () => {
  const ben = await scim.user("ben.roles");
  for (const name of ["admin", "operator", "everyone"]) await scim.group(name, [ben]);
  assert.deepEqual(await rolesOf(server, ben), []);
});

test("[ours.scim.roles] a group with an externalId counts by it, so that its name gives no role", async () => {
  const cleo = await scim.user("cleo.roles");
  await scim.group("platform", [cleo], { externalId: "another-id" });
  assert.deepEqual(await rolesOf(server, cleo), []);
  await scim.group("any name", [cleo], { externalId: "9b1d-id" });
  assert.deepEqual(await rolesOf(server, cleo), ['default auditor ["9b1d-id","another-id"]']);
});

test("[ours.scim.roles] a deleted or renamed group changes the roles of its members", async () => {
  const dora = await scim.user("dora.roles");
  const group = await scim.group("approvers", [dora]);
  assert.deepEqual(await rolesOf(server, dora), ['default reviewer ["approvers"]']);
  await scim.call("PUT", `/Groups/${group}`, { displayName: "Others", members: [{ value: dora }] });
  assert.deepEqual(await rolesOf(server, dora), []);
  await scim.call("PUT", `/Groups/${group}`, { displayName: "approvers", members: [dora] });
  assert.deepEqual(await rolesOf(server, dora), ['default reviewer ["approvers"]']);
  assert.equal((await scim.call("DELETE", `/Groups/${group}`)).status, 204);
  assert.deepEqual(await rolesOf(server, dora), []);
  assertScimError(await scim.call("GET", `/Groups/${group}`), 404);
});

/** How a provider takes the last admin of a project away. */
const LOSSES: Readonly<
  Record<
    string,
    {
      readonly lose: (
        provider: ScimClient,
        user: string,
        group: string,
      ) => Promise<{ readonly status: number }>;
      readonly kind: "reviewer.updated" | "reviewer.removed";
    }
  >
> = {
  "disables the user": {
    lose: (provider, user) =>
      provider.patch(`/Users/${user}`, { op: "replace", path: "active", value: false }),
    kind: "reviewer.updated",
  },
  "deletes the user": {
    lose: (provider, user) => provider.call("DELETE", `/Users/${user}`),
    kind: "reviewer.updated",
  },
  "deletes the group": {
    lose: (provider, _, group) => provider.call("DELETE", `/Groups/${group}`),
    kind: "reviewer.removed",
  },
  "removes the user from the group": {
    lose: (provider, _, group) =>
      provider.call("PUT", `/Groups/${group}`, { displayName: "platform" }),
    kind: "reviewer.removed",
  },
  "renames the group": {
    lose: (provider, user, group) =>
      provider.call("PUT", `/Groups/${group}`, {
        displayName: "approvers",
        members: [{ value: user }],
      }),
    kind: "reviewer.updated",
  },
};

for (const [how, { lose, kind }] of Object.entries(LOSSES)) {
  test(`[ours.scim.last-admin] when the provider ${how}, the last admin loses power at once, and the operator is warned`, async (t) => {
    const lines: string[] = [];
    const report = new Report("warn", { write: (line) => void lines.push(line) });
    const settings = { ...MAPPING, provisioner_rate: "0" };
    const own = await startTestProvider(t, { settings, report });
    const provider = await ScimClient.create(own);
    const [ana, ben] = [await provider.user("ana"), await provider.user("ben")];
    const group = await provider.group("platform", [ana, ben]);
    const token = await own.token({ kind: "reviewer", name: "ana" });
    const people = () => own.call("GET", "/review/v1/invitations", { token });
    assert.equal((await people()).status, 200);
    await provider.patch(`/Users/${ben}`, { op: "replace", path: "active", value: false });
    assert.deepEqual(lines, [], "ana remains");
    const { status } = await lose(provider, ana, group);
    assert.ok(status === 200 || status === 204, String(status));
    const after = (await people()).status;
    assert.ok(after === 401 || after === 403, String(after));
    const warnings = lines.map((line) => JSON.parse(line));
    assert.deepEqual(
      warnings.map(({ event, project, actor }) => [event, project, actor]),
      [["project.last_admin_lost", "default", `scim:${provider.tokenId}`]],
    );
    const entries = await own.provider.context.store.all(
      "select kind, detail from audit_entry where subject = $1 order by id",
      [`reviewer:${warnings[0].subject_id}`],
    );
    const lost = entries.filter(({ detail }) =>
      String(detail).includes('"last_admin_of":"default"'),
    );
    assert.deepEqual(
      lost.map((entry) => entry.kind),
      [kind],
    );
    // The operator needs no account.
    const appointed = await own.token({ kind: "reviewer", name: "new-admin", role: "admin" });
    const answer = await own.call("GET", "/review/v1/invitations", { token: appointed });
    assert.equal(answer.status, 200);
  });
}

test("[ours.scim.protocol] a lookup of a group by name or id reads the members of no other group", async (t) => {
  const own = await startTestProvider(t, { settings: { provisioner_rate: "0" } });
  const provider = await ScimClient.create(own);
  for (const name of ["one", "Two", "three"]) await provider.group(name, [], { externalId: name });
  const { context } = own.provider;
  const reads: string[] = [];
  const store = new Proxy(context.store, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        reads.push(String(args[0]));
        return value.apply(target, args);
      };
    },
  });
  for (const text of ['displayName eq "two"', 'externalId eq "Two"']) {
    reads.length = 0;
    const query = { filter: parseFilter(text), offset: 0, limit: 10 };
    const { total, resources } = await listScimGroups({ store }, query);
    assert.deepEqual([total, resources[0]?.displayName], [1, "Two"]);
    assert.equal(reads.filter((sql) => sql.includes("scim_member")).length, 1, text);
  }
});

test("[ours.scim.audit] every change has an audit entry with the SCIM token as its actor", async () => {
  const eve = await scim.user("eve");
  const group = await scim.group("approvers", [eve]);
  await scim.patch(`/Users/${eve}`, { op: "replace", path: "displayName", value: "Eve" });
  await scim.patch(`/Users/${eve}`, { op: "replace", path: "active", value: false });
  await scim.call("DELETE", `/Groups/${group}`);
  const actor = `scim:${scim.tokenId}`;
  const entries = [
    ...(await auditOf(scene, `person:${eve}`)),
    ...(await auditOf(scene, `group:${group}`)),
  ];
  assert.deepEqual([...new Set(entries.map((entry) => entry.actor))], [actor]);
  assert.deepEqual(
    entries.map(({ kind, detail }) => [kind, detail]),
    [
      ["person.created", { login: "eve", name: "eve", external_id: "sub-eve" }],
      ["person.updated", { name: "Eve", user_name: "eve", external_id: "sub-eve" }],
      ["person.updated", { disabled_at: clock.now() }],
      ["group.created", { name: "approvers", external_id: null, members: [eve] }],
      ["group.deleted", { name: "approvers" }],
    ],
  );
});

test("[ours.scim.protocol] a filter on userName finds a user in any case, and pages have a start and a size", async () => {
  const id = await scim.user("Filter.Me@Example.com", { emails: [{ value: "f@example.com" }] });
  const find = (filter: string) =>
    scim.call("GET", `/Users?filter=${encodeURIComponent(filter)}&count=1`);
  const filters = [
    'userName eq "filter.me@EXAMPLE.com"',
    `id eq "${id}"`,
    'externalId eq "sub-Filter.Me@Example.com"',
    'userName sw "filter.me" and active eq true',
    'emails[value eq "F@example.com"] or userName eq "missing"',
  ];
  for (const filter of filters) {
    const { json } = await find(filter);
    const ids = json.Resources.map((each) => each.id);
    assert.deepEqual([json.totalResults, json.itemsPerPage, ids], [1, 1, [id]], filter);
  }
  assert.equal((await find('userName eq "missing"')).json.totalResults, 0);
  assertScimError(await find('userName eq "'), 400, "invalidFilter");
  assertScimError(await find('shoeSize eq "1"'), 400, "invalidFilter");
  const all = (await scim.call("GET", "/Users?count=0")).json;
  assert.deepEqual([all.itemsPerPage, all.Resources], [0, []]);
  const second = (await scim.call("GET", "/Users?startIndex=2&count=1")).json;
  const firstTwo = (await scim.call("GET", "/Users?count=2")).json;
  assert.equal(second.Resources[0]?.id, firstTwo.Resources[1]?.id);
  assert.deepEqual([second.startIndex, second.totalResults], [2, all.totalResults]);
});

test("[ours.scim.protocol] errors have the form of SCIM and name the fault", async () => {
  const id = await scim.user("faults");
  assertScimError(await scim.call("POST", "/Users", { userName: "FAULTS" }), 409, "uniqueness");
  assertScimError(await scim.call("POST", "/Users", {}), 400, "invalidValue");
  assertScimError(await scim.call("POST", "/Users", { userName: "a b" }), 400, "invalidValue");
  assertScimError(await scim.call("POST", "/Users", []), 400, "invalidSyntax");
  assertScimError(await scim.call("PUT", `/Users/${id}`, { active: 3 }), 400, "invalidValue");
  assertScimError(await scim.patch(`/Users/${id}`), 400, "invalidSyntax");
  const misspelled = { op: "replace", path: "activ", value: false };
  assertScimError(await scim.patch(`/Users/${id}`, misspelled), 400, "invalidPath");
  const removed = { op: "remove", path: "active" };
  assertScimError(await scim.patch(`/Users/${id}`, removed), 400, "invalidValue");
  const group = { displayName: "g", members: [{ value: "missing" }] };
  assertScimError(await scim.call("POST", "/Groups", group), 400, "invalidValue");
  assertScimError(await scim.call("GET", "/Users/none"), 404);
  assertScimError(await scim.call("POST", "/Bulk", {}), 501);
  assertScimError(await scim.call("DELETE", "/Schemas"), 405);
  const kept = (await scim.call("GET", `/Users/${id}`)).json;
  assert.deepEqual([kept.userName, kept.active], ["faults", true]);
});

test("[ours.scim.protocol] a user who is disabled stays disabled when PUT omits active", async () => {
  const id = await scim.user("omits");
  await scim.patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
  const replaced = await scim.call("PUT", `/Users/${id}`, { userName: "omits", displayName: "O" });
  assert.deepEqual([replaced.status, replaced.json.active], [200, false]);
});
