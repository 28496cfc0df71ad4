/** All kinds, in the order in which their steps are applied. Deletions follow in reverse order. */

import type { Kind } from "../kind.ts";
import { agent } from "./agent.ts";
import { bot } from "./bot.ts";
import { channel } from "./channel.ts";
import { grant } from "./grant.ts";
import { group } from "./group.ts";
import { baselinePolicy, policy } from "./policy.ts";
import { project } from "./project.ts";
import { provisioner } from "./provisioner.ts";
import { reviewer } from "./reviewer.ts";

/** Policies name groups, agents have owners, and channels and grants name agents. */
export const KINDS: readonly Kind[] = [
  project,
  reviewer,
  bot,
  agent,
  group,
  baselinePolicy,
  policy,
  channel,
  provisioner,
  grant,
];

/** Kinds that need lists beyond those that every role can read. */
export { grant, provisioner, reviewer };
