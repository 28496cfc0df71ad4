/**
 * Signals: facts about a call that a reviewer should check. A signal that is missing proves
 * nothing. Pure; these depend on the call only. The server adds those of earlier calls.
 */

import type { Call } from "./call.ts";
import { valuesIn } from "./leaves.ts";
import { type Signal, UNCHECKED } from "./signal.ts";
import {
  forcePushSignal,
  noWhereSignal,
  pipeSignal,
  recursiveSignal,
  unclearSqlSignal,
} from "./signals-commands.ts";
import { outsideSignal } from "./signals-paths.ts";
import { confusableSignal, productionSignal } from "./signals-text.ts";

type Check = (call: Call) => Signal | undefined;

const CHECKS: readonly Check[] = [
  noWhereSignal,
  unclearSqlSignal,
  pipeSignal,
  recursiveSignal,
  forcePushSignal,
  outsideSignal,
  confusableSignal,
  productionSignal,
];

/** @param call undefined for arguments that cannot be analyzed */
export function signalsOf(call: Call | undefined): Signal[] {
  if (call === undefined || valuesIn(call.args).length === 0) return [UNCHECKED];
  return CHECKS.flatMap((check) => check(call) ?? []);
}
