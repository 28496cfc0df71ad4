import assert from "node:assert/strict";
import { after, test } from "node:test";
import { REVIEW_OPERATIONS, type ReviewOperations } from "@countersign/review-api";
import { SESSION_FRESH_MS } from "../src/core/session.ts";
import { assertRefused } from "./support/envelope.ts";
import { callAs, newPerson } from "./support/people.ts";
import { startScene } from "./support/scene.ts";

const { server, clock, instance } = await startScene({ after });
const admin = await newPerson(server, { login: "ana@example.com", role: "admin" });
await newPerson(server, { login: "vic", role: "viewer" });
const { reviewers } = (
  await callAs<{ reviewers: readonly { id: string; name: string }[] }>(
    server,
    admin,
    "GET",
    "/reviewers",
  )
).json;
const viewer = reviewers.find(({ name }) => name === "vic")?.id;

type FreshOperation = {
  readonly [Name in keyof ReviewOperations]: ReviewOperations[Name] extends { fresh: true }
    ? Name
    : never;
}[keyof ReviewOperations];

/** `addPasskey` needs the answer of a browser: passkey-accounts.test.ts has it. */
const CALLS: Readonly<
  Record<Exclude<FreshOperation, "addPasskey">, [path: string, body?: object]>
> = {
  issueToken: ["/tokens", { name: "night-watch" }],
  createInstance: ["/instances", {}],
  rotateCredential: [`/instances/${instance.id}/credential`, {}],
  setReceiver: [
    `/instances/${instance.id}/receiver`,
    {
      url: "https://192.0.2.1/a",
      registration_id: "5f6c1c0e-7a0e-4b9e-9d43-0f9a8f1f1c11",
      signing_secret: "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    },
  ],
  createInvitation: ["/invitations", { name: "Li", role: "viewer" }],
  changeReviewer: [`/reviewers/${viewer}`, { role: "admin" }],
  beginPasskey: ["/account/passkeys/options"],
  removePasskey: ["/account/passkeys/01JAAAAAAAAAAAAAAAAAAAAAAA"],
};

test("[ours.people.fresh] operations that the table marks as fresh require a recent sign-in", async () => {
  for (const name of ["issueToken", "createInstance", "createInvitation"] as const) {
    const [path, body] = CALLS[name];
    const { status, text } = await callAs(server, admin, "POST", path, { body });
    assert.equal(status, 201, text);
  }
  clock.advance(SESSION_FRESH_MS);
  for (const [name, [path, body]] of Object.entries(CALLS)) {
    const { method } = REVIEW_OPERATIONS[name as FreshOperation];
    const rejected = await callAs(server, admin, method, path, { body });
    assertRefused(rejected, 403, "stale_sign_in");
    assert.match(rejected.text, /Sign in again, then/, name);
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
    assertRefused(refused, 403, "stale_sign_in");
    assert.match(refused.text, /Sign in again, then/);
  }
  assert.equal((await change({ role: "viewer", groups: [] })).status, 200);
});
