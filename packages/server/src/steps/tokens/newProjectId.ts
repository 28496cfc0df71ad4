import type { Random } from "../../clock.ts";

/** Short, because every key starts with it: docs/decisions/0011. */
export function newProjectId(random: Random): string {
  return Buffer.from(random.bytes(PROJECT_ID_BYTES)).toString("hex");
}

/** The primary key rejects a duplicate, so two projects are never mixed. */
const PROJECT_ID_BYTES = 8;
