import type { Random } from "../../clock.ts";

/** Short, because every key starts with it: docs/decisions/0011. */
export function newProjectId(random: Random): string {
  return Buffer.from(random.bytes(PROJECT_ID_BYTES)).toString("hex");
}

/** The primary key would refuse a second one, not mix two projects up. */
const PROJECT_ID_BYTES = 8;
