/** Checks that the work in progress is bounded. */

import type { Promised } from "../facts.ts";

export const BOUNDED: Promised = {
  id: "I14",
  says: "Open work is bounded, and an idle replica holds no resources.",

  onArrival({ world, attempts, replicas }, { replica }) {
    const all = [...attempts.values()].flat();
    const open = all.filter(({ arrival, isOver }) => arrival.replica === replica && !isOver);
    const [{ context } = { context: undefined }] = replicas;
    const { inFlightMax = 0 } = context?.settings.webhooks.bounds ?? {};
    // This attempt is not counted yet.
    const isBounded = open.length < inFlightMax;
    world.assert(isBounded, "I14", () => `${replica.name} has ${open.length + 1} in flight`);
  },

  atEnd({ world, replicas }) {
    for (const { name, context } of replicas) {
      const { limits } = context.delivery;
      const inUse = { slots: limits.size, queued: limits.queued, polls: context.wake.waiting };
      const isFree = Object.values(inUse).every((count) => count === 0);
      world.assert(isFree, "I14", () => `${name} still holds ${JSON.stringify(inUse)}`);
    }
  },
};
