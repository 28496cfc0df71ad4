import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { FindingError } from "../src/audit/finding.ts";
import type { ReviewerRole } from "../src/core/roles.ts";
import { readVerifier, verifyExport, verifyProof } from "../src/index.ts";
import { logOf, untilSealed } from "./support/audit-logs.ts";
import { assertRefused } from "./support/envelope.ts";
import { startScene } from "./support/scene.ts";

const scene = await startScene({ after });
const { server, instance, reviewer } = scene;

interface Entry {
  readonly id: string;
  readonly at: number;
  readonly kind: string;
  readonly actor: string;
  readonly subject: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

interface Page {
  readonly entries: readonly Entry[];
  readonly next: string | null;
}

const AUDIT = "/review/v1/audit";

function tokenOf(role: ReviewerRole, project = "default"): Promise<string> {
  return server.token({ kind: "reviewer", name: `${role} of ${project}`, role, project });
}

const auditor = await tokenOf("auditor");
const operator = await tokenOf("operator");

const requests: ApprovalRequest[] = [];
for (let i = 0; i < 12; i++) requests.push(await server.submit(instance.token));
scene.clock.advance(10);
await server.decide(reviewer, requests[3]?.id ?? "", "approve");
await untilSealed(scene);

async function list(query: string, token = auditor): Promise<Page> {
  const { status, json, text } = await server.call<Page>("GET", `${AUDIT}/entries${query}`, {
    token,
  });
  assert.equal(status, 200, text);
  return json;
}

const READS = [
  "entries",
  "checkpoint",
  "export",
  "entries/01a20121-94e3-7021-b58b-2793b325438e/proof",
];

test("[ours.audit.review] only auditors, admins and operators read the log, and that of the server only operators", async () => {
  for (const role of ["viewer", "reviewer", "editor", "auditor", "admin", "operator"] as const) {
    const token = await tokenOf(role);
    for (const read of READS) {
      const mayRead = ["auditor", "admin", "operator"].includes(role);
      const own = await server.call("GET", `${AUDIT}/${read}`, { token });
      if (!mayRead) assertRefused(own as never, 403, "forbidden");
      else assert.ok(own.status === 200 || own.status === 404, own.text);
      const path = `${AUDIT}/${read}?log=server`;
      const ofServer = await server.call("GET", path, { token });
      if (role !== "operator") assertRefused(ofServer as never, 403, "forbidden");
      else assert.ok(ofServer.status === 200 || ofServer.status === 404, ofServer.text);
    }
  }
  await untilSealed(scene);
});

test("[ours.audit.review] of another project's entries there are none, and no proof", async () => {
  const other = await tokenOf("auditor", "other");
  await untilSealed(scene);
  const [entry] = (await list(`?subject=request:${requests[3]?.id}`)).entries;
  assert.ok(entry);
  assert.deepEqual((await list(`?subject=request:${requests[3]?.id}`, other)).entries, []);
  const theirs = await server.call("GET", `${AUDIT}/entries/${entry.id}/proof`, { token: other });
  assertRefused(theirs as never, 404, "not_found");
});

test("[ours.audit.review] entries are listed newest first, by kind, subject and actor, page by page", async () => {
  const subject = `request:${requests[3]?.id}`;
  const about = await list(`?subject=${subject}`);
  assert.deepEqual(
    about.entries.map(({ kind }) => kind),
    ["request.resolved", "request.opened"],
  );
  assert.equal(about.next, null);
  const kinds = await list("?kind=request.opened");
  assert.equal(kinds.entries.length, 12);
  const actors = await list(`?actor=instance:${instance.id}&kind=request.opened&limit=5`);
  assert.equal(actors.entries.length, 5);
  const seen = [...actors.entries];
  for (let next = actors.next; next !== null; ) {
    const page = await list(`?actor=instance:${instance.id}&limit=5&after=${next}`);
    seen.push(...page.entries);
    next = page.next;
  }
  assert.deepEqual(seen, kinds.entries);
  assert.deepEqual(
    [...seen].sort((a, b) => (a.id < b.id ? 1 : -1)),
    seen,
  );
});

function isUnreadable(error: unknown): boolean {
  return error instanceof FindingError && error.finding.fault === "unreadable";
}

test("[ours.audit.proof] [ours.audit.export] what the surface gives away is verified by the key of the log", async () => {
  const token = auditor;
  const shown = await server.call<Record<string, string>>("GET", `${AUDIT}/checkpoint`, { token });
  const log = await logOf(scene);
  assert.equal(shown.json.checkpoint, log.checkpoint);
  assert.equal(shown.json.size, log.size);
  const verifier = readVerifier(shown.json.public_key ?? "");
  assert.ok(verifier);
  const [entry] = (await list(`?subject=request:${requests[3]?.id}`)).entries;
  const proof = await server.call("GET", `${AUDIT}/entries/${entry?.id}/proof`, { token });
  const proven = verifyProof(proof.text, verifier);
  assert.deepEqual([proven.entry.kind, proven.entry.id], ["request.resolved", entry?.id]);
  for (const note of ['"\\x"', '"\u0001"', "7"]) {
    const crafted = proof.text.replace(/^\{"checkpoint":"[^"]*"/, () => `{"checkpoint":${note}`);
    assert.throws(() => verifyProof(crafted, verifier), isUnreadable, note);
  }

  const { text, headers } = await server.call("GET", `${AUDIT}/export`, { token });
  assert.equal(headers.get("content-type"), "application/x-ndjson");
  const lines = async function* () {
    yield* text.trimEnd().split("\n");
  };
  const verified = await verifyExport(lines(), { verifier });
  assert.deepEqual([verified.finding, verified.size], [undefined, log.size]);
  const [, ...rest] = text.trimEnd().split("\n");
  const crafted = async function* () {
    yield JSON.stringify({ log: verifier.name, from: -1, subtrees: [] });
    yield* rest;
  };
  assert.equal((await verifyExport(crafted(), { verifier })).finding?.fault, "unreadable");
  const none = await server.call("GET", `${AUDIT}/export?since=2099-01-01T00:00:00Z`, { token });
  assert.equal(none.text.trimEnd().split("\n").length, 2);
});

test("[ours.audit.review] an invalid parameter returns 400 with its name", async () => {
  for (const [path, param] of [
    ["entries?limit=0", "limit"],
    ["entries?after=x", "after"],
    ["entries?log=mine", "log"],
    ["entries?kind=a&kind=b", "kind"],
    ["export?since=yesterday", "since"],
  ] as const) {
    const answer = await server.call<{ error: { param: string } }>("GET", `${AUDIT}/${path}`, {
      token: operator,
    });
    assert.equal(answer.status, 400);
    assert.equal(answer.json.error.param, param);
  }
});
