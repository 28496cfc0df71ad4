/**
 * When the killing is over: everything that was promised is requested again, what was not notified
 * of is sent again, and the database is counted from outside.
 */

import { setTimeout as sleep } from "node:timers/promises";
import {
  ApprovalClient,
  type ApprovalRequest,
  Provisioner,
  parseJson,
  SdkError,
} from "@countersign/sdk";
import type { Journal, KnownInstance, Submission } from "./journal.ts";
import { type Callers, settle } from "./load.ts";
import { ANYWHERE, type Place, type Store } from "./place.ts";

const AT_ONCE = 16;
const PAUSE_MS = 100;

/** @param isWhole also waits for what failed and is to be tried again, which may take minutes */
export async function verifyAll(
  place: Place,
  callers: Callers,
  isWhole: boolean,
  settleMs: number,
): Promise<void> {
  const { journal } = callers;
  await inParallel(journal.instances, (one) => deleteAgain(callers, one));
  await inParallel(journal.submissions, (one) => askAgain(callers, one));
  await place.withStore(async (store) => {
    await untilNone(journal, "requests are pending after their deadline", settleMs, () =>
      count(store, OVERDUE, [Date.now()]),
    );
    callers.receivers.heal();
    const owed = isWhole ? OWED : DUE;
    await untilNone(journal, "notifications are owed and not delivered", settleMs, () =>
      count(store, owed, isWhole ? [] : [Date.now()]),
    );
    await judgeRows(journal, store);
    if (isWhole) await judgeEvents(journal, store);
  });
  const wrong = await faultOfLog(place, settleMs);
  if (wrong !== undefined) journal.violate("I15", `the audit log: ${wrong}`);
}

/** The first complete scan seals entries that were committed late, during interrupted scans. */
async function faultOfLog({ verifyLog }: Place, settleMs: number): Promise<string | undefined> {
  const endsAt = performance.now() + settleMs;
  let wrong = await verifyLog();
  while (wrong?.startsWith("unsealed") && performance.now() < endsAt) {
    await sleep(10 * PAUSE_MS);
    wrong = await verifyLog();
  }
  return wrong;
}

const OVERDUE = "select count(*) as n from request where status = 'pending' and deadline_at < $1";
const OWED = "select count(*) as n from notification where ended_at is null";
/** Those that a worker could take now: a lease of a killed worker ends by time. */
const DUE = `${OWED} and next_at < $1 and (not_before is null or not_before < $1)
  and (claimed_until is null or claimed_until < $1)`;

async function count(store: Store, sql: string, values: readonly number[]): Promise<number> {
  return Number((await store.get(sql, values))?.n);
}

async function untilNone(
  journal: Journal,
  what: string,
  withinMs: number,
  look: () => Promise<number>,
): Promise<void> {
  const endsAt = performance.now() + withinMs;
  let left = await look();
  while (left > 0 && performance.now() < endsAt) {
    await sleep(PAUSE_MS);
    left = await look();
  }
  if (left > 0) journal.violate("stranded", `${left} ${what}`);
}

/** An unanswered deletion is repeated; a deleted instance stays deleted. */
async function deleteAgain(callers: Callers, instance: KnownInstance): Promise<void> {
  if (!instance.isDeleting) return;
  const { journal, provisioner, fetch } = callers;
  const made = new Provisioner({ url: ANYWHERE, token: provisioner, fetch });
  const known = await settle(made.delete(instance.id).then(() => true));
  if (known === undefined) journal.violate("I7", `${instance.id} cannot be deleted`);
  instance.deletedAt ??= Date.now();
  const client = new ApprovalClient({ url: ANYWHERE, apiKey: instance.token, fetch });
  const read = client.read(instance.id).catch((error: unknown) => error);
  const error = await read;
  if (!(error instanceof SdkError) || error.providerCode !== "invalid_credential") {
    journal.violate("I7", `the credential of the deleted ${instance.id} is good`);
  }
}

/** The same key and input: what was answered before is there, and nothing is there twice. */
async function askAgain(callers: Callers, submission: Submission): Promise<void> {
  const { journal, fetch } = callers;
  const { instance, known, key, source, timeout, intents } = submission;
  if (instance.deletedAt !== undefined) return;
  const client = new ApprovalClient({ url: ANYWHERE, apiKey: instance.token, fetch });
  try {
    const observe = async (pendingRequest: Promise<ApprovalRequest>) => {
      const askedAt = performance.now();
      journal.observe(submission, await pendingRequest, askedAt);
    };
    // Read before it is sent again: sending would make anew what was lost.
    if (known !== undefined) await observe(client.read(known));
    const args = parseJson(source) as object;
    const input = { idempotencyKey: key, tool: "deploy", arguments: args, timeout };
    const again = await client.create(input);
    await observe(Promise.resolve(again));
    if (again.status !== "pending") return;
    intents.add("cancel");
    await settle(client.cancel(again), ["already_terminal"]);
    await observe(client.read(again));
    if (submission.known?.status === "pending") journal.violate("stranded", `${again.id} pends`);
  } catch (error) {
    journal.violate("I11", `${key}, known as ${known?.id}: ${error}`);
  }
}

/** Checks for extra and missing rows, which callers cannot see. */
async function judgeRows(journal: Journal, store: Store): Promise<void> {
  const checks: readonly (readonly [promise: string, what: string, sql: string])[] = [
    [
      "I2",
      "keys have several requests",
      `select count(*) as n from (select 1 as one from request
         group by instance_id, key_hash having count(*) > 1) as doubled`,
    ],
    [
      "I3",
      "requests have several events",
      `select count(*) as n from (select 1 as one from notification
         group by request_id having count(*) > 1) as doubled`,
    ],
    [
      "I3",
      "events are of pending requests",
      `select count(*) as n from notification join request on request.id = notification.request_id
         where request.status = 'pending'`,
    ],
    [
      "I7",
      "requests of deleted instances are pending",
      `select count(*) as n from request join instance on instance.id = request.instance_id
         where request.status = 'pending' and instance.deleted_at is not null`,
    ],
    ["I15", "requests lack their entry of opening", withoutEntry(OPENING, "")],
    [
      "I15",
      "decisions lack their entry",
      withoutEntry("kind = 'request.resolved'", "status <> 'pending' and"),
    ],
    ["I15", "requests have two entries of opening", withTwo(OPENING)],
    ["I15", "decisions have two entries", withTwo("kind = 'request.resolved'")],
  ];
  for (const [promise, what, sql] of checks) {
    const found = await count(store, sql, []);
    if (found > 0) journal.violate(promise, `${found} ${what}`);
  }
  const rows = await count(store, "select count(*) as n from request", []);
  if (rows > journal.submissions.length) {
    journal.violate("I2", `${rows} requests of ${journal.submissions.length} submissions`);
  }
}

/** A request that was decided at its creation has one entry for both. */
const OPENING =
  "(kind = 'request.opened' or kind = 'request.resolved' and detail like '%\"opened_by\":%')";

function withTwo(entry: string): string {
  return `select count(*) as n from (select 1 as one from audit_entry where ${entry}
    group by subject having count(*) > 1) as doubled`;
}

function withoutEntry(entry: string, condition: string): string {
  return `select count(*) as n from request where ${condition} not exists (select 1
    from audit_entry where ${entry} and subject = 'request:' || request.id)`;
}

/** Each decision of an instance with a receiver has a notification; other decisions have none. */
async function judgeEvents(journal: Journal, store: Store): Promise<void> {
  for (const { instance, known } of journal.submissions) {
    if (known?.decision === undefined) continue;
    const event = journal.eventOf(known.id);
    if (instance.receiver === undefined && event !== undefined) {
      journal.violate("I3", `${known.id} has an event and its instance no receiver`);
    }
    const mustBeNotified = instance.receiver !== undefined && instance.deletedAt === undefined;
    if (mustBeNotified && event === undefined) {
      journal.violate("I5", `${known.id} was ${known.status} and was not notified`);
    }
  }
  const ended = `select count(*) as n from notification
    where ended_by not in ('acknowledged', 'deletion')`;
  const lost = await count(store, ended, []);
  if (lost > 0) journal.violate("I5", `${lost} notifications were given up`);
}

async function inParallel<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  let next = 0;
  const run = async () => {
    for (let one = all[next++]; one !== undefined; one = all[next++]) await work(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
}
