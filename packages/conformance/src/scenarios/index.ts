/** Every scenario, in the order in which they are reported. */

import type { Scenario } from "../scenario.ts";
import { ARGUMENTS } from "./arguments.ts";
import { AUTHENTICATION } from "./authentication.ts";
import { CANCEL } from "./cancel.ts";
import { CREATE } from "./create.ts";
import { DECIDE } from "./decide.ts";
import { EXPIRE } from "./expire.ts";
import { EXPIRING } from "./expiring.ts";
import { IDEMPOTENCY } from "./idempotency.ts";
import { INSTANCES } from "./instances.ts";
import { NOTIFY } from "./notify.ts";
import { PROVISION } from "./provision.ts";
import { RACES } from "./races.ts";
import { READ } from "./read.ts";
import { RECEIVER_INPUT } from "./receiver-input.ts";
import { RECEIVER_UPDATES } from "./receiver-updates.ts";
import { RECEIVERS } from "./receivers.ts";
import { RETRY } from "./retry.ts";
import { SERVICE } from "./service.ts";

export const SCENARIOS: readonly Scenario[] = [
  ...SERVICE,
  ...AUTHENTICATION,
  ...PROVISION,
  ...INSTANCES,
  ...CREATE,
  ...ARGUMENTS,
  ...IDEMPOTENCY,
  ...READ,
  ...CANCEL,
  ...EXPIRE,
  ...EXPIRING,
  ...DECIDE,
  ...RACES,
  ...RECEIVER_INPUT,
  ...RECEIVERS,
  ...RECEIVER_UPDATES,
  ...NOTIFY,
  ...RETRY,
];
