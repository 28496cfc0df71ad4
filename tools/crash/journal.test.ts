import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApprovalRequest, type JsonObject, parseJson } from "@countersign/sdk";
import { Journal, type KnownInstance, type ReceivedEvent, type Submission } from "./journal.ts";

const SOURCE = '{"n": 1.50e1}';
const CREATED = Date.UTC(2026, 0, 1);
const DEADLINE = CREATED + 60_000;

function instance(fields: Partial<KnownInstance> = {}): KnownInstance {
  const known = { id: "instance", token: "token", key: "provisioning", receiver: undefined };
  return { ...known, isDeleting: false, deletedAt: undefined, ...fields };
}

function submit(journal: Journal, of = instance(), key = "key"): Submission {
  return journal.add({ instance: of, key, source: SOURCE, timeout: "1m" });
}

function request(fields: Partial<ApprovalRequest> = {}, source = SOURCE): ApprovalRequest {
  return {
    id: "request",
    tool: "deploy",
    arguments: parseJson(source) as JsonObject,
    timeout: "1m",
    agentReasoning: undefined,
    context: undefined,
    status: "pending",
    createdAt: CREATED,
    deadlineAt: DEADLINE,
    decision: undefined,
    ...fields,
  };
}

type Status = NonNullable<ApprovalRequest["decision"]>["status"];

function decided(status: Status, decidedAt = CREATED + 1_000): ApprovalRequest {
  const expiresAt = status === "approved" ? decidedAt + 1_000 : undefined;
  return request({ status, decision: { status, note: undefined, decidedAt, expiresAt } });
}

function event(fields: Partial<ReceivedEvent> = {}): ReceivedEvent {
  const reported = { id: "event", requestId: "request", instanceId: "instance", body: "{}" };
  return { ...reported, at: CREATED + 2_000, decidedAt: CREATED + 1_000, ...fields };
}

/** An answer to what was asked just now. */
function see(journal: Journal, submission: Submission, answered: ApprovalRequest): void {
  journal.observe(submission, answered, performance.now());
}

/** The promises that were broken, in order. */
function broken({ violations }: Journal): string[] {
  return violations.map((text) => text.split(":")[0] ?? "");
}

test("observations that are valid in any order break no promise", () => {
  const journal = new Journal();
  journal.provisioned(instance());
  journal.provisioned(instance());
  const one = submit(journal);
  one.intents.add("approve");
  see(journal, one, request());
  see(journal, one, decided("approved"));
  see(journal, one, decided("approved"));
  journal.arrived(event())();
  journal.arrived(event())();
  const late = submit(journal, instance(), "late");
  const expiry = { status: "expired", note: undefined, decidedAt: DEADLINE } as const;
  const expired = { status: "expired", decision: { ...expiry, expiresAt: undefined } } as const;
  see(journal, late, request({ id: "other", ...expired }));
  assert.deepEqual(journal.violations, []);
});

test("a decision that changes, or is taken back, is seen", () => {
  const journal = new Journal();
  const one = submit(journal);
  one.intents.add("approve").add("deny");
  see(journal, one, decided("approved"));
  see(journal, one, decided("denied"));
  assert.deepEqual(broken(journal), ["I1"]);
  const other = new Journal();
  const two = submit(other);
  two.intents.add("deny");
  see(other, two, decided("denied"));
  see(other, two, request());
  assert.deepEqual(broken(other), ["I1"]);
});

test("a read that started before the decision may return late without it", () => {
  const journal = new Journal();
  const askedAt = performance.now();
  const one = submit(journal);
  one.intents.add("deny");
  see(journal, one, decided("denied"));
  journal.observe(one, request(), askedAt);
  assert.deepEqual(broken(journal), []);
  assert.equal(one.known?.status, "denied");
});

test("a decision without a verdict is a violation, and so is an early expiry", () => {
  for (const status of ["approved", "denied", "cancelled", "expired"] as const) {
    const journal = new Journal();
    see(journal, submit(journal), decided(status));
    assert.deepEqual(broken(journal), ["I12"], status);
  }
});

test("an approval at its deadline is seen", () => {
  const journal = new Journal();
  const one = submit(journal);
  one.intents.add("approve");
  see(journal, one, decided("approved", DEADLINE));
  assert.deepEqual(broken(journal), ["I6"]);
});

test("a key with two requests, a request with two keys, and other arguments are seen", () => {
  const journal = new Journal();
  const one = submit(journal);
  see(journal, one, request());
  see(journal, one, request({ id: "other" }));
  assert.deepEqual(broken(journal), ["I2"]);
  see(journal, submit(journal, instance(), "second"), request());
  assert.deepEqual(broken(journal), ["I2", "I2"]);
  see(journal, submit(journal, instance(), "third"), request({ id: "third" }, '{"n": 15}'));
  assert.deepEqual(broken(journal), ["I2", "I2", "I10"]);
});

test("a second instance of one key is seen, and another credential", () => {
  const journal = new Journal();
  journal.provisioned(instance());
  journal.provisioned(instance({ id: "other" }));
  journal.provisioned(instance({ token: "other" }));
  assert.deepEqual(broken(journal), ["I2", "I2"]);
});

test("two attempts at one time, a second event and changed bytes are seen", () => {
  const journal = new Journal();
  const over = journal.arrived(event());
  journal.arrived(event());
  assert.deepEqual(broken(journal), ["I4"]);
  over();
  journal.arrived(event({ id: "second" }));
  journal.arrived(event({ id: "third", requestId: "third" }));
  journal.arrived(event({ id: "fourth", requestId: "fourth", body: "{}" }))();
  journal.arrived(event({ id: "fourth", requestId: "fourth", body: "{ }" }));
  assert.deepEqual(broken(journal), ["I4", "I3", "I9"]);
});

test("an event with another time than the decision is a violation, in either order", () => {
  const journal = new Journal();
  const one = submit(journal);
  one.intents.add("deny");
  see(journal, one, decided("denied"));
  journal.arrived(event({ decidedAt: CREATED }));
  assert.deepEqual(broken(journal), ["I3"]);
  const other = new Journal();
  const two = submit(other);
  two.intents.add("deny");
  other.arrived(event({ decidedAt: CREATED }));
  see(other, two, decided("denied"));
  assert.deepEqual(broken(other), ["I3"]);
});

test("an attempt that starts after the deletion is seen", () => {
  const journal = new Journal();
  const gone = instance();
  journal.provisioned(gone);
  gone.isDeleting = true;
  gone.deletedAt = CREATED;
  journal.arrived(event({ at: CREATED + 10_000 }));
  assert.deepEqual(broken(journal), []);
  journal.arrived(event({ id: "late", requestId: "late", at: CREATED + 10_001 }));
  assert.deepEqual(broken(journal), ["I7"]);
});
