import { startRows } from "../rows/start-rows.ts";
import { decide } from "./decide.ts";
import type { Scenario } from "./scenario.ts";

/**
 * The rows of a request that is decided at once, written by a server that does nothing else: what
 * {@link decide} could reach at most.
 */
export const rows: Scenario = {
  name: "rows",
  start: ({ connections }) => startRows({ connections, decided: true }),
  prepare: (subject, seconds) => decide.prepare(subject, seconds),
};
