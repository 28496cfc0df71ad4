import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { setReviewer } from "../../../test/support/requirements.ts";
import { openTestContext } from "../../../test/support/test-context.ts";
import type { StoredRequest } from "../../core/request.ts";
import { createToken, type TokenOrder } from "../../operations/tokens/createToken.ts";
import { revokeToken } from "../../operations/tokens/revokeToken.ts";
import { NO_REQUIREMENT, type Requirement } from "../../policy/rule.ts";
import type { StoredVote } from "../../storage/sql/requests/votes.ts";
import { recordVote } from "./recordVote.ts";

const clock = new ManualClock();
const context = await openTestContext({ after }, clock);
const { store, random } = context;

function issue(name: string, order: Partial<TokenOrder> = {}) {
  const defaults = { kind: "reviewer", name, project: "default", expiresAt: null } as const;
  return createToken(context, { ...defaults, ...order });
}

for (const name of ["ana", "ben", "cleo"]) await issue(name);
await issue("robot", { isBot: true });
const projectId = String((await store.get("select id from project"))?.id);

async function idOf(name: string): Promise<string> {
  return String((await store.get("select id from reviewer where name = $1", [name]))?.id);
}

const ARGUMENTS = '{"env":"prod"}';

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A pending request of its own, on which votes are cast. */
function ask(requirement: Partial<Requirement>, ownerId: string | null = null) {
  const request: StoredRequest = {
    id: random.uuid(),
    instanceId: "i",
    projectId,
    tool: '"deploy"',
    server: null,
    arguments: ARGUMENTS,
    timeout: "1h",
    agentReasoning: null,
    context: null,
    policy: null,
    status: "pending",
    createdAt: 0,
    deadlineAt: clock.now() + 3_600_000,
    decision: null,
  };
  const asked = { requirement: { ...NO_REQUIREMENT, ...requirement }, ownerId };
  let signatures = 0;
  return {
    request,
    /** How often a signature was used up. */
    signatures: () => signatures,
    async vote(name: string, said: Partial<StoredVote> = {}) {
      clock.advance(1);
      const vote = {
        projectId,
        requestId: request.id,
        reviewerId: await idOf(name),
        note: null,
        validityMs: null,
        forGroups: null,
        votedAt: clock.now(),
        proof: null,
        ...said,
      };
      const use = async () => {
        signatures++;
      };
      const tally = await store.transact((tx) =>
        recordVote(tx, context, request, asked, vote, use),
      );
      const names = await Promise.all(
        tally.counted.map(async ({ reviewerId }) => {
          const row = await store.get("select name from reviewer where id = $1", [reviewerId]);
          return row?.name;
        }),
      );
      return [tally.isEnough, ...names];
    },
  };
}

async function entriesOf({ id }: StoredRequest) {
  const rows = await store.all(
    `select project_id, at, kind, actor, subject, detail from audit_entry
     where subject = $1 order by at`,
    [`request:${id}`],
  );
  return rows.map(({ detail, ...row }) => ({ ...row, detail: JSON.parse(String(detail)) }));
}

async function votesOn({ id }: StoredRequest) {
  return store.all("select note, validity_ms from vote where request_id = $1", [id]);
}

test("[ours.verdict.quorum] votes are kept and counted in their order until they are enough", async () => {
  const { vote } = ask({ quorum: 3 });
  assert.deepEqual(await vote("cleo"), [false, "cleo"]);
  assert.deepEqual(await vote("ana"), [false, "cleo", "ana"]);
  assert.deepEqual(await vote("ana"), [false, "cleo", "ana"], "one person is one");
  assert.deepEqual(await vote("cleo"), [false, "cleo", "ana"], "and keeps their place");
  assert.deepEqual(await vote("ben"), [true, "cleo", "ana", "ben"]);
});

test("[ours.verdict.recorded] the same vote again writes nothing and uses no signature; anything else said takes its place", async () => {
  const { request, vote, signatures } = ask({ quorum: 2 });
  const proof = JSON.stringify({ credential_id: "key" });
  const said: readonly Partial<StoredVote>[] = [
    {},
    { note: '"a"' },
    { note: '"a"', validityMs: 30_000 },
    { note: '"a"', validityMs: 30_000, forGroups: ["dba"] },
    { note: '"a"', validityMs: 30_000, forGroups: ["ops"] },
    { note: '"a"', validityMs: 30_000, forGroups: ["ops"], proof },
    { note: '"b"', validityMs: 30_000, forGroups: ["ops"], proof },
  ];
  for (const [index, each] of said.entries()) {
    await vote("ana", each);
    const count = index + 1;
    assert.equal(signatures(), count);
    await vote("ana", each);
    assert.deepEqual([signatures(), (await entriesOf(request)).length], [count, count]);
    const kept = { note: each.note ?? null, validity_ms: each.validityMs ?? null };
    assert.deepEqual(
      (await votesOn(request)).map((row) => ({ ...row })),
      [kept],
    );
  }
});

test("[ours.verdict.recorded] every vote has its row in the log, with what was shown and what was said", async () => {
  const { request, vote } = ask({ quorum: 9 });
  const passkey = { credential_id: "key", nonce: "n" };
  await vote("ana");
  const signed = { proof: JSON.stringify(passkey), forGroups: ["dba"] };
  await vote("ben", { note: '"go"', validityMs: 30_000, ...signed });
  const row = {
    project_id: projectId,
    kind: "vote.cast",
    subject: `request:${request.id}`,
  };
  const shown = { arguments_sha256: sha256(ARGUMENTS) };
  assert.deepEqual(await entriesOf(request), [
    {
      ...row,
      at: clock.now() - 1,
      actor: `reviewer:${await idOf("ana")}`,
      detail: { ...shown, validity_ms: null, note_sha256: null },
    },
    {
      ...row,
      at: clock.now(),
      actor: `reviewer:${await idOf("ben")}`,
      detail: {
        ...shown,
        validity_ms: 30_000,
        note_sha256: sha256('"go"'),
        for_groups: ["dba"],
        passkey,
      },
    },
  ]);
});

test("[ours.verdict.quorum] the vote of a reviewer without a valid token or session is rejected, and does not count", async () => {
  const { id } = await issue("leaver");
  const { request, vote } = ask({ quorum: 2 });
  await vote("leaver");
  await revokeToken(context, id);
  await assert.rejects(vote("leaver", { note: '"again"' }), { code: "invalid_credential" });
  assert.equal((await entriesOf(request)).length, 1);
  assert.deepEqual(await vote("ana"), [false, "ana"]);
  assert.deepEqual(await vote("ben"), [true, "ana", "ben"]);
});

test("[ours.verdict.quorum] a vote counts as long as its voter may decide and is named", async () => {
  await setReviewer(store, "ana", { groups: ["dba"] });
  await setReviewer(store, "ben", { groups: ["dba"] });
  const lose = [{ role: "viewer" }, { groups: [] }];
  for (const change of lose) {
    const { vote } = ask({ quorum: 2, from: [["group:dba"]] });
    await vote("ana");
    await setReviewer(store, "ana", change);
    assert.deepEqual(await vote("ben"), [false, "ben"]);
    await setReviewer(store, "ana", { role: "reviewer", groups: ["dba"] });
    assert.deepEqual(await vote("ben"), [true, "ana", "ben"], "and again when it is back");
  }
});

test("[ours.verdict.owner] [ours.people.bots] votes of an excluded owner, and of a bot if a rule allows none, do not count", async () => {
  const { vote } = ask({ quorum: 2, excludeOwner: true }, await idOf("ana"));
  await vote("ana");
  await vote("robot");
  assert.deepEqual(await vote("ben"), [false, "ben"]);
  assert.deepEqual(await vote("cleo"), [true, "ben", "cleo"]);
  const taken = ask({ quorum: 2, bots: true });
  await taken.vote("robot");
  assert.deepEqual(await taken.vote("ben"), [true, "robot", "ben"]);
});

test("[ours.authorization.scopes] [ours.verdict.quorum] a vote counts for the groups that the token it came with and the tokens left decide for", async () => {
  const full = await issue("lena", { groups: ["dba", "ops"] });
  const { vote } = ask({ from: [["group:dba"], ["group:ops"]] });
  assert.deepEqual(await vote("lena"), [true, "lena"]);
  assert.deepEqual(await vote("lena", { forGroups: ["dba"] }), [false, "lena"]);
  assert.deepEqual(await vote("lena", { forGroups: ["lead"] }), [false]);
  await issue("lena", { scopes: ["decide:ops"] });
  await revokeToken(context, full.id);
  assert.deepEqual(await vote("lena"), [false, "lena"]);
  assert.deepEqual(await vote("lena", { forGroups: ["dba"] }), [false]);
});
