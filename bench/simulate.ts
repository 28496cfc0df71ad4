/**
 * Simulates a draft of 200 rules over stored requests, and measures how it slows down creations
 * meanwhile: one creation after another, with a pause between, alone and beside a simulation.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { growStore } from "./growth.ts";
import { createMessage } from "./messages.ts";
import type { Options } from "./options.ts";
import { policyOfManyRules } from "./policy.ts";
import { type Spread, spreadOf } from "./statistics.ts";
import { type Subject, startSubject } from "./subject.ts";
import { reportProgress } from "./table.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface Simulation {
  readonly replayed: number;
  readonly seconds: number;
  /** Lines of progress that were sent meanwhile. */
  readonly reports: number;
  /** Creations, in ms. */
  readonly alone: Spread;
  readonly beside: Spread;
}

const STORED = 100_000;
const WARM_UP = 5_000;
const ALONE_MS = 5_000;
const PAUSE_MS = 5;

export async function measureSimulation({ stored = STORED }: Options): Promise<Simulation> {
  const folder = temporaryFolder();
  reportProgress("simulate: filling the store");
  await growStore(folder, stored);
  const subject = await startSubject({ connections: 1, folder, firstNumber: 1 });
  try {
    await simulate(subject, WARM_UP);
    reportProgress("simulate: creations alone");
    const endsAt = performance.now() + ALONE_MS;
    const alone = await createUntil(subject, () => performance.now() >= endsAt);
    reportProgress("simulate: creations beside a simulation");
    let isOver = false;
    const startedAt = performance.now();
    const creations = createUntil(subject, () => isOver);
    const { replayed, reports } = await simulate(subject, STORED);
    isOver = true;
    const seconds = (performance.now() - startedAt) / 1_000;
    return { replayed, seconds, reports, alone, beside: await creations };
  } finally {
    await subject.stop();
    removeFolder(folder);
  }
}

async function createUntil(subject: Subject, isOver: () => boolean): Promise<Spread> {
  const [connection] = subject.connections;
  if (connection === undefined) throw new Error("there is no connection");
  const latenciesMs: number[] = [];
  while (!isOver()) {
    const sentAt = performance.now();
    const { status } = await connection.exchange(
      createMessage(subject.token, subject.nextNumber()),
    );
    latenciesMs.push(performance.now() - sentAt);
    if (status !== 201) throw new Error(`a creation was answered ${status}`);
    await sleep(PAUSE_MS);
  }
  return spreadOf(latenciesMs);
}

/** @throws Error when it does not end with a summary */
async function simulate(
  { port, reviewerToken }: Subject,
  limit: number,
): Promise<{ readonly replayed: number; readonly reports: number }> {
  const response = await fetch(`http://127.0.0.1:${port}/review/v1/policy/simulate`, {
    method: "POST",
    headers: { authorization: `Bearer ${reviewerToken}`, "content-type": "application/json" },
    body: JSON.stringify({ source: policyOfManyRules(), limit }),
  });
  const lines = (await response.text()).trimEnd().split("\n");
  const events = lines.map((line) => JSON.parse(line) as { event?: string; replayed: number });
  const last = events.at(-1);
  if (last?.event !== "summary") throw new Error(`a simulation ended with ${lines.at(-1)}`);
  const reports = events.filter(({ event }) => event === "progress").length;
  return { replayed: last.replayed, reports };
}
