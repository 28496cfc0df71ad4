/**
 * Ten thousand agents wait at once: what that costs in memory, and how soon each learns of its
 * decision.
 */

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Child, residentMb, startChild } from "./children.ts";
import { Connection, expectAnswer, openConnections } from "./connection.ts";
import { approveMessage, getMessage } from "./messages.ts";
import { monotonicMs } from "./monotonic.ts";
import type { Options } from "./options.ts";
import type { PollAnswers, PollOrder } from "./poll-client.ts";
import { type Spread, spreadOf } from "./statistics.ts";
import { type Filled, type Subject, startSubject } from "./subject.ts";
import { reportProgress } from "./table.ts";

export interface LongPolls extends Wakes {
  readonly polls: number;
  /** Resident memory of the server with all requests stored and no poll. */
  readonly memoryBeforeMb: number;
  readonly memoryWithMb: number;
}

export interface Wakes {
  readonly verdicts: number;
  readonly verdictsPerSecond: number;
  /**
   * From the answer to the verdict, which follows the commit, to the answer of the poll; 0 when
   * the poll was answered first.
   */
  readonly fromCommitMs: Spread;
  /** From the sending of the verdict to the answer of the poll. */
  readonly fromSendingMs: Spread;
}

/** Descriptors other than polls: the program's own, the database, the other connections. */
const OTHER_FILES = 500;
const CONNECTIONS = 32;
const REVIEWERS = 4;
const FILL_S_MAX = 120;

export async function measureLongPolls(options: Options): Promise<LongPolls> {
  const count = Math.min(options.polls, filesMax() - OTHER_FILES);
  const subject = await startSubject({ connections: CONNECTIONS });
  const client = await startChild<"started">({ file: "poll-client.ts" });
  try {
    reportProgress(`long-polls: making ${count} requests`);
    const pending = await subject.fill({ seconds: FILL_S_MAX, count });
    const memoryBeforeMb = residentMb(subject.pid);
    reportProgress(`long-polls: opening ${pending.length} polls`);
    await openPolls(client, subject, pending);
    const memoryWithMb = residentMb(subject.pid);
    const chosen = spread(pending, options.verdicts);
    reportProgress(`long-polls: deciding ${chosen.length} of them`);
    const wakes = await wake(client, subject, chosen);
    return { polls: pending.length, memoryBeforeMb, memoryWithMb, ...wakes };
  } finally {
    await client.stop();
    await subject.stop();
  }
}

/** Returns when the server holds a poll for each. */
export async function openPolls(
  client: Child<unknown>,
  { port, token }: Pick<Subject, "port" | "token">,
  pending: readonly Filled[],
): Promise<void> {
  const order: PollOrder = { port, token, ids: pending.map(({ id }) => id) };
  client.process.send(order);
  await untilHeld(port, pending.length);
}

/**
 * Decides requests that the client polls, and waits for the answers of the polls.
 *
 * @param reviewed where the verdicts are sent to
 */
export async function wake(
  client: Child<unknown>,
  reviewed: Subject,
  chosen: readonly Filled[],
): Promise<Wakes> {
  const decided = await decide(reviewed, chosen);
  const polls = await answersOf(client, chosen.length);
  return {
    verdicts: chosen.length,
    verdictsPerSecond: decided.verdicts.length / decided.seconds,
    ...latencies(decided.verdicts, polls),
  };
}

/** Evenly over all, so that old and new connections are among them. */
function spread(pending: readonly Filled[], count: number): Filled[] {
  const step = Math.max(1, Math.floor(pending.length / count));
  return pending.filter((_, i) => i % step === 0).slice(0, count);
}

interface Verdict {
  readonly id: string;
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
}

async function decide(
  subject: Subject,
  chosen: readonly Filled[],
): Promise<{ verdicts: Verdict[]; seconds: number }> {
  const reviewers = await openConnections(subject.port, REVIEWERS);
  const queue = [...chosen];
  const verdicts: Verdict[] = [];
  const startedAtMs = monotonicMs();
  await Promise.all(
    reviewers.map(async (reviewer) => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const message = approveMessage(subject.reviewerToken, next.id, next.n);
        const sentAtMs = monotonicMs();
        const answer = await reviewer.exchange(message);
        const answeredAtMs = monotonicMs();
        expectAnswer(answer, 200, "approved");
        verdicts.push({ id: next.id, sentAtMs, answeredAtMs });
      }
    }),
  );
  const seconds = (monotonicMs() - startedAtMs) / 1000;
  for (const reviewer of reviewers) reviewer.close();
  return { verdicts, seconds };
}

function latencies(
  verdicts: readonly Verdict[],
  polls: PollAnswers,
): Pick<Wakes, "fromCommitMs" | "fromSendingMs"> {
  const at = new Map(polls);
  const polledAt = ({ id }: Verdict) => {
    const answeredAtMs = at.get(id);
    if (answeredAtMs === undefined) throw new Error(`the poll of ${id} was not answered`);
    return answeredAtMs;
  };
  return {
    fromCommitMs: spreadOf(
      verdicts.map((verdict) => Math.max(0, polledAt(verdict) - verdict.answeredAtMs)),
    ),
    fromSendingMs: spreadOf(verdicts.map((verdict) => polledAt(verdict) - verdict.sentAtMs)),
  };
}

const HOLDING_MS_MAX = 60_000;
const LOOK_EVERY_MS = 100;

/** Asks the server's own metrics until it holds that many. */
async function untilHeld(port: number, count: number): Promise<void> {
  const connection = await Connection.open(port);
  const endsAtMs = monotonicMs() + HOLDING_MS_MAX;
  for (;;) {
    const { body } = await connection.exchange(getMessage("/metrics"));
    const held = Number(/^countersign_polls_held (\d+)/m.exec(body.toString("utf8"))?.[1]);
    if (held >= count) break;
    if (monotonicMs() > endsAtMs) throw new Error(`only ${held} of ${count} polls are held`);
    await sleep(LOOK_EVERY_MS);
  }
  connection.close();
}

const ANSWERS_MS_MAX = 10_000;

/** The answers that the polls got until now, once there are so many. */
async function answersOf(client: Child<unknown>, count: number): Promise<PollAnswers> {
  const endsAtMs = monotonicMs() + ANSWERS_MS_MAX;
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<PollAnswers>();
    client.process.once("message", (answers) => resolve(answers as PollAnswers));
    client.process.send("report");
    const answers = await promise;
    if (answers.length >= count) return answers;
    if (monotonicMs() > endsAtMs) throw new Error(`${answers.length} of ${count} polls woke`);
    await sleep(LOOK_EVERY_MS);
  }
}

function filesMax(): number {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const hard = /^Max open files +\S+ +(\S+)/m.exec(limits)?.[1];
  return hard === "unlimited" ? Number.POSITIVE_INFINITY : Number(hard);
}
