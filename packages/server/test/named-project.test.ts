/** The project that a call of the reviewer API names. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { EventReader } from "./support/event-reader.ts";
import { addMembership, removeMembership } from "./support/memberships.ts";
import { asPage, callAs, newPerson, type SignedInPerson } from "./support/people.ts";
import { startScene } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server } = scene;
const { store } = server.provider.context;

interface Session {
  readonly project: { readonly id: string; readonly role: string } | null;
  readonly projects: readonly { readonly id: string }[];
}

let people = 0;

/** A reviewer of `default` who is also a viewer of another project. */
async function memberOfTwo(): Promise<{ readonly ana: SignedInPerson; readonly other: string }> {
  const project = `other${++people}`;
  const ana = await newPerson(server, { login: `ana${people}` });
  const other = await addMembership(server, { login: ana.login, project, role: "viewer" });
  return { ana, other };
}

/** Headers of a call that names the project. */
function inProject(id: string): Readonly<Record<string, string>> {
  return { "countersign-project": id };
}

function get<T>(who: SignedInPerson, path: string, project?: string): Promise<Answer<T>> {
  const headers = project === undefined ? {} : inProject(project);
  return callAs<T>(server, who, "GET", path, { headers });
}

test("[ours.sign-in.projects] one session acts in the project that each call names, otherwise in its own", async () => {
  const { ana, other } = await memberOfTwo();
  const there = await server.instance(`other${people}`);
  const [own, foreign] = [
    await server.submit(scene.instance.token),
    await server.submit(there.token),
  ];
  const statuses = [];
  for (const project of [undefined, ana.projectId, other]) {
    for (const { id } of [own, foreign]) {
      statuses.push((await get(ana, `/requests/${id}`, project)).status);
    }
  }
  assert.deepEqual(statuses, [200, 404, 200, 404, 404, 200]);
});

test("[ours.sign-in.projects] the role in the named project applies, in both directions", async () => {
  const { ana, other } = await memberOfTwo();
  const shown = await get<Session>(ana, "/session", other);
  assert.deepEqual([shown.json.project?.id, shown.json.project?.role], [other, "viewer"]);
  assert.equal(shown.json.projects.length, 2);
  const there = await server.instance(`other${people}`);
  const { id } = await server.submit(there.token);
  const read = await get<{ arguments_sha256: string }>(ana, `/requests/${id}`, other);
  const call = {
    headers: inProject(other),
    body: { verdict: "approve", arguments_sha256: read.json.arguments_sha256 },
  };
  const path = `/requests/${id}/verdict`;
  assertRefused(await callAs(server, ana, "POST", path, call), 403, "forbidden");
  const { headers: _, ...elsewhere } = call;
  assertRefused(await callAs(server, ana, "POST", path, elsewhere), 404, "not_found");
  assert.equal((await server.read(there.token, id)).status, "pending");
});

test("[ours.sign-in.projects] a project of others, an unknown one and one that the user left return 404", async () => {
  const { ana, other } = await memberOfTwo();
  const { projectId: foreign } = await newPerson(server, { login: "eve", project: "of others" });
  await removeMembership(server, other, ana.id);
  for (const project of [foreign, "0123456789abcdef", other]) {
    for (const path of ["/requests", "/session", "/account"]) {
      assertRefused(await get(ana, path, project), 404, "not_found");
    }
  }
  assert.equal((await get(ana, "/requests")).status, 200);
});

test("[ours.sign-in.projects] a disabled user gets 401 in every project", async () => {
  const { ana, other } = await memberOfTwo();
  await store.transact(async (tx) => {
    await tx.run("update person set disabled_at = 1 where id = $1", [ana.id]);
  });
  for (const project of [undefined, ana.projectId, other]) {
    assertRefused(await get(ana, "/requests", project), 401, "invalid_credential");
  }
});

test("[ours.sign-in.projects] a text that is not an id of a project returns 400", async () => {
  const { ana } = await memberOfTwo();
  for (const text of ["", " ", "../x", "a,b", "ü", "x".repeat(65)]) {
    assertRefused(await get(ana, "/requests", text), 400, "invalid_request", "Countersign-Project");
  }
  for (const text of ["", "%00", "a%00", "a&project=b", "%F0%9F%98%80"]) {
    for (const path of ["/events", "/requests"]) {
      const answer = await get(ana, `${path}?project=${text}`);
      assertRefused(answer, 400, "invalid_request", "project");
    }
  }
});

test("[ours.authorization.projects] a token is accepted with its own project, and gets 404 with another one", async () => {
  const { other } = await memberOfTwo();
  const { projectId } = await newPerson(server, { login: "someone" });
  const call = (project: string) =>
    server.call("GET", "/review/v1/requests", {
      token: scene.reviewer,
      headers: inProject(project),
    });
  assert.equal((await call(projectId)).status, 200);
  assertRefused(await call(other), 404, "not_found");
  assertRefused(await call(" "), 400, "invalid_request", "Countersign-Project");
});

test("[ours.events.hints] a stream that names a project has its hints alone, and ends when the user leaves it", async (t) => {
  const { ana, other } = await memberOfTwo();
  const there = await server.instance(`other${people}`);
  const reader = await EventReader.open(t, server, asPage(ana), `?project=${other}`);
  await reader.next("ready");
  await server.submit(scene.instance.token);
  const { id } = await server.submit(there.token);
  await reader.next("request", id);
  assert.deepEqual(reader.requests, []);
  await removeMembership(server, other, ana.id);
  scene.clock.advance(2_000);
  assert.equal((await reader.next("end")).data.reason, "signed_out");
});

test("[ours.history.export] an export names its project in the query", async () => {
  const { ana, other } = await memberOfTwo();
  const decided = await server.submit(scene.instance.token);
  await server.decide(scene.reviewer, decided.id, "deny", { note: "no" });
  const [here, there] = [
    await get(ana, `/history/export?format=csv&project=${ana.projectId}`),
    await get(ana, `/history/export?format=csv&project=${other}`),
  ];
  assert.match(here.text, new RegExp(decided.id));
  assert.equal(there.status, 200);
  assert.doesNotMatch(there.text, new RegExp(decided.id));
});
