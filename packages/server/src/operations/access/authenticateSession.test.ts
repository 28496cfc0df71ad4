import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { newPerson, type SignedInPerson } from "../../../test/support/people.ts";
import { openTestContext, withStore } from "../../../test/support/test-context.ts";
import { SESSION_IDLE_MS, SESSION_LIFETIME_MS, SESSION_SEEN_MS } from "../../core/session.ts";
import { Failure } from "../../failure.ts";
import { hashToken } from "../../secrets/token.ts";
import type { Durability, Store } from "../../storage/store.ts";
import { authenticateSession, reviewerOf } from "./authenticateSession.ts";

const clock = new ManualClock();
const context = await openTestContext({ after }, clock);
const { store } = context;

let logins = 0;

function signIn(order: Partial<Parameters<typeof newPerson>[1]> = {}): Promise<SignedInPerson> {
  return newPerson({ provider: { context } }, { login: `person${++logins}`, ...order });
}

async function assertInvalid(cookie: string): Promise<void> {
  const authentication = authenticateSession(context, cookie);
  await assert.rejects(authentication, { code: "invalid_credential", status: 401 }, cookie);
}

async function seenAt({ id }: SignedInPerson): Promise<number> {
  return Number(
    (await store.get("select seen_at from session where person_id = $1", [id]))?.seen_at,
  );
}

test("[ours.sign-in.session] a cookie authenticates the session, the person and the reviewer of its project", async () => {
  const ana = await signIn({ role: "admin", groups: ["dba"] });
  const { session, person, membership } = await authenticateSession(context, ana.cookie);
  assert.deepEqual(
    [session.personId, session.projectId, session.method, session.createdAt],
    [ana.id, ana.projectId, "password", clock.now()],
  );
  assert.deepEqual([person.id, person.login, person.disabledAt], [ana.id, ana.login, null]);
  const { reviewerId, ...rest } = membership ?? {};
  const row = await store.get("select id from reviewer where person_id = $1", [ana.id]);
  assert.equal(reviewerId, row?.id);
  assert.deepEqual(rest, {
    projectId: ana.projectId,
    projectName: "default",
    name: ana.login,
    role: "admin",
    groups: ["dba"],
  });
});

test("[ours.sign-in.session] a signed-in reviewer is a person with all powers of the role", async () => {
  const ana = await signIn({ role: "viewer", groups: ["ops"] });
  const signedIn = await authenticateSession(context, ana.cookie);
  const { session, membership } = signedIn;
  assert.deepEqual(reviewerOf(signedIn), {
    kind: "reviewer",
    credentialId: session.id,
    projectId: ana.projectId,
    reviewerId: membership?.reviewerId,
    name: ana.login,
    role: "viewer",
    groups: ["ops"],
    isBot: false,
    scopes: null,
    personId: ana.id,
    session,
  });
});

test("[ours.sign-in.at-once] a user removed from the project stays signed in, but is not a reviewer there", async () => {
  const ana = await signIn();
  await store.transact((tx) =>
    tx.run("update reviewer set removed_at = 1 where person_id = $1", [ana.id]),
  );
  const signedIn = await authenticateSession(context, ana.cookie);
  assert.equal(signedIn.membership, undefined);
  assert.throws(() => reviewerOf(signedIn), {
    code: "forbidden",
    status: 403,
    message: "You are not a reviewer of this project. Name another project in Countersign-Project.",
  });
});

test("[ours.sign-in.cookie] a cookie of another form is rejected, even with a known hash", async () => {
  const ana = await signIn();
  const forms = ["", "known", `${ana.cookie}=`, ` ${ana.cookie}`, `${ana.cookie.slice(0, -1)}.`];
  for (const text of forms) {
    await store.transact((tx) =>
      tx.run("update session set token_hash = $1 where person_id = $2", [hashToken(text), ana.id]),
    );
    await assertInvalid(text);
  }
});

test("[ours.sign-in.cookie] an unknown cookie, or one of an ended session, is rejected", async () => {
  const ana = await signIn();
  await assertInvalid("a".repeat(43));
  await store.transact((tx) => tx.run("delete from session where person_id = $1", [ana.id]));
  await assertInvalid(ana.cookie);
});

test("[ours.sign-in.session] an hour without use, and twelve in all, end a session to the millisecond", async () => {
  const [idle, busy] = [await signIn(), await signIn()];
  const startedAt = clock.now();
  clock.set(startedAt + SESSION_IDLE_MS - 1);
  await authenticateSession(context, idle.cookie, { isUse: false });
  await authenticateSession(context, busy.cookie);
  clock.advance(1);
  await assertInvalid(idle.cookie);
  await authenticateSession(context, busy.cookie);
  const lastMs = startedAt + SESSION_LIFETIME_MS - 1;
  await store.transact((tx) => tx.run("update session set seen_at = $1", [lastMs]));
  clock.set(lastMs);
  await authenticateSession(context, busy.cookie);
  clock.advance(1);
  await assertInvalid(busy.cookie);
});

test("[ours.sign-in.at-once] the session of a disabled person is rejected", async () => {
  const [ana, ben] = [await signIn(), await signIn()];
  await store.transact((tx) => tx.run("update person set disabled_at = 0 where id = $1", [ana.id]));
  await assertInvalid(ana.cookie);
  assert.equal((await authenticateSession(context, ben.cookie)).person.id, ben.id);
});

test("[ours.sign-in.session] a use is recorded once a minute, and automatic requests of a page never", async () => {
  const ana = await signIn();
  const startedAt = clock.now();
  clock.set(startedAt + SESSION_SEEN_MS - 1);
  await authenticateSession(context, ana.cookie);
  assert.equal(await seenAt(ana), startedAt);
  clock.advance(1);
  await authenticateSession(context, ana.cookie, { isUse: false });
  assert.equal(await seenAt(ana), startedAt);
  await authenticateSession(context, ana.cookie);
  assert.equal(await seenAt(ana), clock.now());
  clock.advance(SESSION_SEEN_MS);
  await authenticateSession(context, ana.cookie, { isUse: true });
  assert.equal(await seenAt(ana), clock.now());
});

test("[ours.sign-in.session] a read-only database does not prevent reads, and hides no other fault", async () => {
  const ana = await signIn();
  clock.advance(SESSION_SEEN_MS);
  const failing = (fault: Error) => withStore(context, { transact: () => Promise.reject(fault) });
  const full = failing(new Failure("store", "the disk is full"));
  assert.equal((await authenticateSession(full, ana.cookie)).person.id, ana.id);
  const broken = failing(new TypeError("a defect"));
  await assert.rejects(authenticateSession(broken, ana.cookie), TypeError);
});

test("[ours.sign-in.session] writing down a use waits for no disk: losing it takes a minute at most", async () => {
  const ana = await signIn();
  clock.advance(SESSION_SEEN_MS);
  const asked: (Durability | undefined)[] = [];
  const transact: Store["transact"] = (work, durability) => {
    asked.push(durability);
    return store.transact(work, durability);
  };
  await authenticateSession(withStore(context, { transact }), ana.cookie);
  assert.deepEqual(asked, ["process"]);
});
