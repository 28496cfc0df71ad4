/**
 * The last act, about proof: the log of all that happened is verified with only the
 * database, and names an entry that is changed in it afterwards.
 */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { CommandFailed, countersign } from "./countersign.ts";

export interface Recorded {
  readonly say: (text?: string) => void;
  /** Data folder of the server. */
  readonly data: string;
  /** A request that was denied. */
  readonly requestId: string;
}

/** While the server runs: entries are sealed about a second after they were written. */
export async function showLog({ say, data }: Recorded): Promise<void> {
  const verified = await untilSealed(data);
  say();
  say("$ countersign audit verify");
  say(verified);
}

/** After the server has stopped: one letter of one entry becomes another. */
export async function showTampering({ say, data, requestId }: Recorded): Promise<void> {
  const database = new DatabaseSync(join(data, "countersign.db"));
  database
    .prepare(
      `update audit_entry set detail = replace(detail, '"denied"', '"denieb"')
       where subject = ? and kind = 'request.resolved'`,
    )
    .run(`request:${requestId}`);
  database.close();
  say();
  say("An attacker changes one letter of the denial in the database.");
  say();
  say("$ countersign audit verify");
  const failure = await countersign(["audit", "verify", "--data", data]).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(failure instanceof CommandFailed) || !failure.stdout.startsWith("altered")) {
    throw new Error("the change was not found", { cause: failure });
  }
  say(failure.stdout.trimEnd());
}

const PATIENCE_MS = 30_000;

/** An entry that is not sealed yet could still be changed before its seal. */
async function untilSealed(data: string): Promise<string> {
  for (const end = Date.now() + PATIENCE_MS; ; await wait(250)) {
    const verified = await countersign(["audit", "verify", "--data", data]);
    if (!verified.includes("not sealed yet")) return verified;
    if (Date.now() > end) throw new Error("the log was not sealed in time");
  }
}
