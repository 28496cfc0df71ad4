/**
 * The call that doctor lets an agent's model stand-in propose: a shell command of a program that
 * does not exist. The hook blocks it at once, before it reads the profile or asks the provider.
 */

import type { JsonObject } from "@countersign/protocol";

export const CANARY_PROGRAM = "countersign_canary";

const COMMAND = new RegExp(`^${CANARY_PROGRAM} ([0-9a-f-]{36})$`);

/** @returns the id in the command, undefined for every other call */
export function canaryIdOf({ members }: JsonObject): string | undefined {
  const command = members.get("command");
  return typeof command === "string" ? COMMAND.exec(command)?.[1] : undefined;
}

/** Doctor searches for it in what the agent reports to its model. */
export function canaryReason(id: string): string {
  return `The hook blocked the canary ${id}.`;
}
