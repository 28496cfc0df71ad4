import { Problem } from "@countersign/protocol";
import { allows, type Power } from "../core/roles.ts";
import type { ReviewerCaller } from "./caller.ts";

const REFUSALS: Readonly<Record<Power, string>> = {
  decide: "This reviewer may look but not decide.",
  freeze: "This reviewer may look but not freeze.",
  publish: "Only the roles editor, admin and operator may change policy.",
  people: "Only the roles admin and operator may say who may do what.",
  server: "Only the role operator may change what holds for the whole server.",
};

/** @throws Problem `forbidden` when the caller's role does not allow it */
export function assertMay({ role }: Pick<ReviewerCaller, "role">, power: Power): void {
  if (!allows(role, power)) throw new Problem("forbidden", REFUSALS[power]);
}
