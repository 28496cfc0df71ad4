/**
 * Whether the user may do something in the open project, so that the console offers only what the
 * server allows. The server checks every call; this decides only what is displayed.
 */

import { allows, type Power } from "@countersign/review-api/roles";
import { session } from "./session.ts";

export function may(power: Power): boolean {
  const project = session.value?.project;
  return project != null && allows(project.role, power);
}
