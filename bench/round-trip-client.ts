/**
 * Round trips of a human decision, of any engine: a call is submitted, a verdict is cast, and
 * the waiting caller is answered.
 */

import { cpuSeconds } from "./children.ts";
import { expectAnswer, openConnections } from "./connection.ts";
import { type Outcome, summarize } from "./load-generator.ts";
import { approveMessage, createMessage, idOf, readMessage } from "./messages.ts";
import type { Subject } from "./subject.ts";

/** One client with its reviewer, each on connections of their own. */
export interface RoundTripClient {
  /** One round trip. */
  roundTrip(): Promise<void>;
  close(): void;
}

export interface Engine {
  /** With its version. */
  readonly name: string;
  openClient(): Promise<RoundTripClient>;
  /** Processor seconds that all its processes have used, those of its database included. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

/** @param clients how many travel at the same time */
export async function runRoundTrips(
  engine: Engine,
  clients: number,
  seconds: number,
): Promise<Outcome> {
  const opening = Array.from({ length: clients }, () => engine.openClient());
  const opened = await Promise.all(opening);
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  const repeat = async ({ roundTrip }: RoundTripClient) => {
    while (performance.now() < endsAt) {
      const sentAt = performance.now();
      await roundTrip();
      latenciesMs.push(performance.now() - sentAt);
    }
  };
  await Promise.all(opened.map(repeat));
  const outcome = summarize(latenciesMs, (performance.now() - startedAt) / 1000);
  for (const client of opened) client.close();
  return outcome;
}

/** @param database processor seconds of the database, where that is another process */
export function providerEngine(name: string, subject: Subject, database = () => 0): Engine {
  return {
    name,
    cpuSeconds: () => cpuSeconds(subject.pid) + database(),
    async openClient() {
      const [client] = await openConnections(subject.port, 1);
      const [reviewer] = await openConnections(subject.port, 1);
      if (client === undefined || reviewer === undefined) throw new Error("no connection");
      return {
        async roundTrip() {
          const n = subject.nextNumber();
          const created = await client.exchange(createMessage(subject.token, n));
          expectAnswer(created, 201, "pending");
          const id = idOf(created.body);
          const [polled, decided] = await Promise.all([
            client.exchange(readMessage(subject.token, id, "30s")),
            reviewer.exchange(approveMessage(subject.reviewerToken, id, n)),
          ]);
          expectAnswer(decided, 200, "approved");
          expectAnswer(polled, 200, "approved");
        },
        close() {
          client.close();
          reviewer.close();
        },
      };
    },
    stop: () => subject.stop(),
  };
}
