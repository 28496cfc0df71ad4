import { type Connection, expectAnswer, openConnections } from "../connection.ts";
import { summarize } from "../load-generator.ts";
import { approveMessage, createMessage, idOf, readMessage } from "../messages.ts";
import type { Subject } from "../subject.ts";
import type { Scenario } from "./scenario.ts";

/**
 * A request from its submission to the long poll that returns the approval: one client submits
 * and polls on a connection of its own, a reviewer approves on another as soon as the poll is
 * on its way. One round trip is three exchanges.
 */
export const roundTrip: Scenario = {
  name: "round-trip",
  async prepare(subject) {
    return async (seconds) => {
      const reviewers = await openConnections(subject.port, subject.connections.length);
      const latenciesMs: number[] = [];
      const startedAt = performance.now();
      const endsAt = startedAt + seconds * 1000;
      const clients = subject.connections.map(async (client, i) => {
        const reviewer = reviewers[i];
        while (reviewer !== undefined && performance.now() < endsAt) {
          latenciesMs.push(await travel(subject, client, reviewer));
        }
      });
      await Promise.all(clients);
      const elapsedS = (performance.now() - startedAt) / 1000;
      for (const reviewer of reviewers) reviewer.close();
      return summarize(latenciesMs, elapsedS);
    };
  },
};

/** @returns how long one round trip took, in ms */
async function travel(
  { token, reviewerToken, nextNumber }: Subject,
  client: Connection,
  reviewer: Connection,
): Promise<number> {
  const startedAt = performance.now();
  const n = nextNumber();
  const created = await client.exchange(createMessage(token, n));
  expectAnswer(created, 201, "pending");
  const id = idOf(created.body);
  const [polled, decided] = await Promise.all([
    client.exchange(readMessage(token, id, "30s")),
    reviewer.exchange(approveMessage(reviewerToken, id, n)),
  ]);
  expectAnswer(decided, 200, "approved");
  expectAnswer(polled, 200, "approved");
  return performance.now() - startedAt;
}
