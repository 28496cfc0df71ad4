import { providerEngine, runRoundTrips } from "../round-trip-client.ts";
import type { Scenario } from "./scenario.ts";

/**
 * A request from its submission to the long poll that returns the approval: one client submits
 * and polls on a connection of its own, a reviewer approves on another as soon as the poll is
 * on its way. One round trip is three exchanges.
 */
export const roundTrip: Scenario = {
  name: "round-trip",
  async prepare(subject) {
    const engine = providerEngine("provider", subject);
    return (seconds) => runRoundTrips(engine, subject.connections.length, seconds);
  },
};
