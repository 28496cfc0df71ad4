/**
 * Measures how stored requests slow down later ones: creations and reads, in turns, against a store
 * that was empty at the start and against one full of decided requests.
 */

import { join } from "node:path";
import { cancelMessage, createMessage, readMessage } from "./messages.ts";
import type { Options } from "./options.ts";
import { copyFirstRequest } from "./sqlite-row-copies.ts";
import { median } from "./statistics.ts";
import { type Subject, startSubject } from "./subject.ts";
import { ms, perSecond, reportProgress, table, times } from "./table.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface Growth {
  readonly stored: number;
  readonly create: Slowdown;
  readonly read: Slowdown;
}

/** Median latencies in ms. */
export interface Slowdown {
  readonly emptyP50Ms: number;
  readonly grownP50Ms: number;
  readonly ratio: number;
  /** The lowest and the highest of all rounds. */
  readonly spread: readonly [number, number];
}

/** Reads of the grown store go to as many requests, evenly over its age. */
export const READ_SAMPLE = 100_000;
const EMPTY_SAMPLE = 1_000;
const WARM_UP_S = 1.5;

export async function measureGrowth(stored: number, options: Options): Promise<Growth> {
  const { connections } = options;
  const folder = temporaryFolder();
  const ids = await growStore(folder, stored);
  const empty = await startSubject({ connections });
  const grown = await startSubject({ connections, folder, firstNumber: 1 });
  try {
    return await compareGrowth({ stored, empty, grown, ids }, options);
  } finally {
    await empty.stop();
    await grown.stop();
    removeFolder(folder);
  }
}

export interface GrowthStores {
  /** Requests of the grown store. */
  readonly stored: number;
  readonly empty: Subject;
  readonly grown: Subject;
  /** Of the grown store, to read. */
  readonly ids: readonly string[];
}

export async function compareGrowth(
  { stored, empty, grown, ids }: GrowthStores,
  { rounds, ...options }: Options,
): Promise<Growth> {
  const known = await empty.fill({ seconds: 10, count: EMPTY_SAMPLE });
  const emptyIds = known.map(({ id }) => id);
  const turns: Turn[] = [];
  for (let round = 0; round <= rounds; round++) {
    reportProgress(`growth: round ${round} of ${rounds}${round === 0 ? " (warm-up)" : ""}`);
    const seconds = round === 0 ? WARM_UP_S : options.seconds;
    const turn = {
      empty: await measure(empty, emptyIds, seconds),
      grown: await measure(grown, ids, seconds),
    };
    if (round > 0) turns.push(turn);
  }
  return { stored, create: compare(turns, "createMs"), read: compare(turns, "readMs") };
}

interface Latencies {
  readonly createMs: number;
  readonly readMs: number;
}

interface Turn {
  readonly empty: Latencies;
  readonly grown: Latencies;
}

async function measure(
  subject: Subject,
  ids: readonly string[],
  seconds: number,
): Promise<Latencies> {
  const { token, nextNumber } = subject;
  const next = () => createMessage(token, nextNumber());
  const created = await subject.run({ next, status: 201 }, seconds);
  const nextRead = () => readMessage(token, ids[Math.floor(Math.random() * ids.length)] ?? "");
  const read = await subject.run({ next: nextRead, status: 200 }, seconds);
  return { createMs: created.p50Ms, readMs: read.p50Ms };
}

function compare(turns: readonly Turn[], what: keyof Latencies): Slowdown {
  const ratios = turns.map(({ empty, grown }) => grown[what] / empty[what]);
  return {
    emptyP50Ms: median(turns.map(({ empty }) => empty[what])),
    grownP50Ms: median(turns.map(({ grown }) => grown[what])),
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
  };
}

/**
 * Lets the server make one request and cancel it, then copies its rows.
 *
 * @returns ids to read
 */
export async function growStore(folder: string, count: number): Promise<string[]> {
  const subject = await startSubject({ connections: 1, folder });
  await decideFirst(subject);
  await subject.stop();
  return copyRequests(join(folder, "countersign.db"), count);
}

/** Makes the request whose rows are copied. */
export async function decideFirst(subject: Subject): Promise<void> {
  const [first] = await subject.fill({ seconds: 10, count: 1 });
  if (first === undefined) throw new Error("no request was made");
  const cancel = cancelMessage(subject.token, first.id);
  let left = 1;
  await subject.run({ next: () => (left-- > 0 ? cancel : undefined), status: 200 }, 1);
}

/** Younger than the rows that the retention purges. */
export const OLDEST_MS = 6 * 24 * 3_600_000;

function copyRequests(file: string, count: number): string[] {
  const ids: string[] = [];
  const sampleEvery = Math.max(1, Math.floor(count / READ_SAMPLE));
  copyFirstRequest(file, count, OLDEST_MS, (id, i) => {
    if (i % sampleEvery === 0) ids.push(id);
    if ((i + 1) % 200_000 === 0) reportProgress(`growth: ${perSecond(i + 1)} requests stored`);
  });
  return ids;
}

export function growthTable({ stored, create, read }: Growth): string {
  const cells = ({ emptyP50Ms, grownP50Ms, ratio, spread }: Slowdown) => [
    times(ratio),
    `${times(spread[0])} to ${times(spread[1])}`,
    ms(grownP50Ms),
    ms(emptyP50Ms),
  ];
  return table([
    [
      `${perSecond(stored)} stored requests`,
      "of an empty store",
      "spread",
      "p50 ms",
      "p50 ms, empty",
    ],
    ["create", ...cells(create)],
    ["read", ...cells(read)],
  ]);
}
