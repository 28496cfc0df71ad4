/**
 * What stored requests cost those that come after them: creations and reads against a store
 * that began empty and against one that began full of decided requests, in turns.
 */

import { hash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { uuidV7 } from "@countersign/protocol";
import { checksumOfRow } from "@countersign/server/storage/sql/requests";
import type { Row } from "@countersign/server/storage/store";
import { cancelMessage, createMessage, readMessage } from "./messages.ts";
import type { Options } from "./options.ts";
import { median } from "./statistics.ts";
import { type Subject, startSubject } from "./subject.ts";
import { perSecond, tell } from "./table.ts";
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
}

/** Reads of the grown store go to as many requests, evenly over its age. */
const READ_SAMPLE = 100_000;
const EMPTY_SAMPLE = 1_000;
const WARM_UP_S = 1.5;

export async function measureGrowth(options: Options): Promise<Growth> {
  const { connections, stored, rounds } = options;
  const folder = temporaryFolder();
  const ids = await growStore(folder, stored);
  const empty = await startSubject({ connections });
  const grown = await startSubject({ connections, folder, firstNumber: 1 });
  try {
    const known = await empty.fill({ seconds: 10, count: EMPTY_SAMPLE });
    const emptyIds = known.map(({ id }) => id);
    const turns: Turn[] = [];
    for (let round = 0; round <= rounds; round++) {
      tell(`growth: round ${round} of ${rounds}${round === 0 ? " (warm-up)" : ""}`);
      const seconds = round === 0 ? WARM_UP_S : options.seconds;
      const turn = {
        empty: await measure(empty, emptyIds, seconds),
        grown: await measure(grown, ids, seconds),
      };
      if (round > 0) turns.push(turn);
    }
    return { stored, create: compare(turns, "createMs"), read: compare(turns, "readMs") };
  } finally {
    await empty.stop();
    await grown.stop();
    removeFolder(folder);
  }
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
  return {
    emptyP50Ms: median(turns.map(({ empty }) => empty[what])),
    grownP50Ms: median(turns.map(({ grown }) => grown[what])),
    ratio: median(turns.map(({ empty, grown }) => grown[what] / empty[what])),
  };
}

/**
 * Lets the server make one request and cancel it, then copies its rows.
 *
 * @returns ids to read
 */
async function growStore(folder: string, count: number): Promise<string[]> {
  const subject = await startSubject({ connections: 1, folder });
  const [first] = await subject.fill({ seconds: 10, count: 1 });
  if (first === undefined) throw new Error("no request was made");
  const cancel = cancelMessage(subject.token, first.id);
  let left = 1;
  await subject.run({ next: () => (left-- > 0 ? cancel : undefined), status: 200 }, 1);
  await subject.stop();
  return copyRequests(join(folder, "countersign.db"), count);
}

const ROWS_PER_COMMIT = 20_000;
/** Younger than what retention erases. */
const OLDEST_MS = 6 * 24 * 3_600_000;

function copyRequests(file: string, count: number): string[] {
  const database = new DatabaseSync(file);
  database.exec("pragma synchronous = off; pragma cache_size = -1048576");
  const request = database.prepare("select * from request").get() ?? {};
  const entries = database
    .prepare("select * from audit_entry where subject like 'request:%'")
    .all();
  const insertRequest = inserter(database, "request", request);
  const insertEntry = inserter(database, "audit_entry", entries[0] ?? {});
  const now = Date.now();
  const ids: string[] = [];
  const sampleEvery = Math.max(1, Math.floor(count / READ_SAMPLE));
  for (let i = 0; i < count; i++) {
    if (i % ROWS_PER_COMMIT === 0) database.exec("begin");
    const at = now - OLDEST_MS + Math.floor((OLDEST_MS * i) / count);
    const id = uuidV7(at, randomBytes(10));
    const keyHash = hash("sha256", `stored-${i}`, "base64url");
    const times = { created_at: at, deadline_at: at + 1, decided_at: at };
    const row = { ...request, ...times, id, key_hash: keyHash };
    insertRequest({ ...row, checksum: checksumOfRow(row as Row) });
    for (const entry of entries) {
      insertEntry({ ...entry, id: uuidV7(at, randomBytes(10)), at, subject: `request:${id}` });
    }
    if (i % sampleEvery === 0) ids.push(id);
    if ((i + 1) % ROWS_PER_COMMIT === 0 || i + 1 === count) database.exec("commit");
    if ((i + 1) % 200_000 === 0) tell(`growth: ${perSecond(i + 1)} requests stored`);
  }
  database.exec("pragma synchronous = full; pragma wal_checkpoint(truncate)");
  database.close();
  return ids;
}

type CopiedRow = Readonly<Record<string, SQLInputValue>>;

/** Inserts rows with the columns of the example, whatever these are. */
function inserter(
  database: DatabaseSync,
  name: string,
  example: CopiedRow,
): (row: CopiedRow) => void {
  const columns = Object.keys(example);
  const places = columns.map(() => "?").join(", ");
  const statement = database.prepare(
    `insert into ${name} (${columns.join(", ")}) values (${places})`,
  );
  return (row) => statement.run(...columns.map((column) => row[column] ?? null));
}
