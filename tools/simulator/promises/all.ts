/**
 * Every promise that a simulation can see, each in a file of its own.
 */

import type { Promised } from "../facts.ts";
import { APPROVED_BY_REVIEWER } from "./approved-by-reviewer.ts";
import { AUDITED } from "./audited.ts";
import { BOUNDED } from "./bounded.ts";
import { DELETION } from "./deletion.ts";
import { EVERYTHING_ENDS } from "./everything-ends.ts";
import { EXACT } from "./exact.ts";
import { FINAL } from "./final.ts";
import { IN_TIME } from "./in-time.ts";
import { KEPT } from "./kept.ts";
import { NO_SECRETS } from "./no-secrets.ts";
import { ONE_ATTEMPT } from "./one-attempt.ts";
import { ONE_EVENT } from "./one-event.ts";
import { ONE_OBJECT } from "./one-object.ts";
import { RETRIES } from "./retries.ts";
import { SAME_EVENT } from "./same-event.ts";
import { VERIFICATION } from "./verification.ts";

export const PROMISES: readonly Promised[] = [
  FINAL,
  ONE_OBJECT,
  ONE_EVENT,
  ONE_ATTEMPT,
  RETRIES,
  IN_TIME,
  DELETION,
  VERIFICATION,
  SAME_EVENT,
  EXACT,
  KEPT,
  APPROVED_BY_REVIEWER,
  NO_SECRETS,
  BOUNDED,
  AUDITED,
  EVERYTHING_ENDS,
];
