/**
 * The test calls of doctor. One is a call of a tool that does not exist, which the hook submits and
 * never allows. The other is a shell command of a program that does not exist, which an agent's
 * model stand-in proposes. The hook blocks that one before it reads the profile.
 */

import { JsonArray, type JsonObject } from "@countersign/protocol";

/** A reviewer or a policy should deny it. */
export const CANARY_TOOL = "countersign_canary";

/** Arguments of the canary. Their id is the key of its request, as not every agent sends ids. */
export interface CanaryArguments {
  readonly note: string;
  readonly id: string;
}

/** @returns the id of the canary, undefined for every other call */
export function canaryKeyOf(tool: string, { members }: JsonObject): string | undefined {
  const id = tool === CANARY_TOOL ? members.get("id" satisfies keyof CanaryArguments) : undefined;
  return typeof id === "string" && /^[0-9a-f-]{36}$/.test(id) ? id : undefined;
}

export const CANARY_PROGRAM = "countersign_canary";

const COMMAND = new RegExp(`^${CANARY_PROGRAM} ([0-9a-f-]{36})$`);

/** @returns the id in the command, undefined for every other call */
export function canaryIdOf({ members }: JsonObject): string | undefined {
  // Cline sends a list of commands.
  const commands = members.get("commands");
  const command = commands instanceof JsonArray ? commands.items[0] : members.get("command");
  return typeof command === "string" ? COMMAND.exec(command)?.[1] : undefined;
}

/** Doctor searches for it in what the agent reports to its model. */
export function canaryReason(id: string): string {
  return `The hook blocked the canary ${id}.`;
}
