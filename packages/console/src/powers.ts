/**
 * What the person may do in the project that is open, so that nothing is offered that the server
 * would refuse. The server judges by itself; this only decides what is shown.
 *
 * Called by: every screen with something that not everybody may do.
 */

import { type Role, session } from "./session.ts";

/** As docs/reference/people.md names them; looking is for all. */
export type Power = "decide" | "freeze" | "publish" | "people" | "audit" | "server";

const POWERS: Readonly<Record<Role, readonly Power[]>> = {
  viewer: [],
  reviewer: ["decide", "freeze"],
  editor: ["publish"],
  auditor: ["audit"],
  admin: ["decide", "freeze", "publish", "people", "audit"],
  operator: ["decide", "freeze", "publish", "people", "audit", "server"],
};

/** Whether the role of the person has a power; false before anybody is known. */
export function may(power: Power): boolean {
  const project = session.value?.project;
  return project != null && (POWERS[project.role] ?? []).includes(power);
}
