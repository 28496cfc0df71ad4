/**
 * Holds long polls, each on a connection of its own, and notes when each was answered. A child
 * process of the benchmark: deciding and waiting must not slow each other down.
 */

import { type Answer, Connection } from "./connection.ts";
import { readMessage } from "./messages.ts";
import { monotonicMs } from "./monotonic.ts";

export interface PollOrder {
  readonly port: number;
  readonly token: string;
  readonly ids: readonly string[];
}

/** Ids with the monotonic time, in ms, at which a poll answered that they are decided. */
export type PollAnswers = readonly (readonly [id: string, answeredAtMs: number])[];

const OPENING_AT_ONCE = 100;

/** One source address has some 28,000 ports; every further one brings as many. */
const CONNECTIONS_PER_ADDRESS = 20_000;

const answers: [string, number][] = [];

function poll(connection: Connection, order: PollOrder, id: string): void {
  const settle = ({ status, body }: Answer) => {
    const answeredAtMs = monotonicMs();
    if (status !== 200) fail(new Error(`a poll was answered ${status}: ${body.toString("utf8")}`));
    // The wait was over first: wait again.
    if (body.includes('"status":"pending"')) poll(connection, order, id);
    else answers.push([id, answeredAtMs]);
  };
  connection.send(readMessage(order.token, id, "30s"), settle, fail);
}

async function openPolls(order: PollOrder): Promise<void> {
  for (let from = 0; from < order.ids.length; from += OPENING_AT_ONCE) {
    const ids = order.ids.slice(from, from + OPENING_AT_ONCE);
    const further = Math.floor(from / CONNECTIONS_PER_ADDRESS);
    const source = further === 0 ? undefined : `127.0.0.${1 + further}`;
    await Promise.all(
      ids.map(async (id) => poll(await Connection.open(order.port, source), order, id)),
    );
  }
}

function fail(error: Error): void {
  console.error(error.message);
  process.exit(1);
}

process.on("message", (message: PollOrder | "report") => {
  if (message === "report") process.send?.(answers satisfies PollAnswers);
  else openPolls(message).catch(fail);
});
process.once("disconnect", () => process.exit());
process.send?.("started");
