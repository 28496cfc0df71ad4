/**
 * The table of planted faults, in the order of the contract's subjects.
 */

import { ATTEMPT_FAULTS } from "./attempts.ts";
import { AUTHENTICATION_FAULTS } from "./authentication.ts";
import { DECISION_FAULTS } from "./decisions.ts";
import { EXCHANGE_FAULTS } from "./exchange.ts";
import type { Fault } from "./fault.ts";
import { INSTANCE_FAULTS } from "./instances.ts";
import { NOTIFICATION_FAULTS } from "./notifications.ts";
import { PROVISIONING_FAULTS } from "./provisionings.ts";
import { READ_FAULTS } from "./reads.ts";
import { RECEIVER_FAULTS } from "./receivers.ts";
import { REPLAY_FAULTS } from "./replays.ts";
import { SUBMISSION_FAULTS } from "./submissions.ts";
import { VERIFICATION_FAULTS } from "./verifications.ts";

export const FAULTS: readonly Fault[] = [
  ...EXCHANGE_FAULTS,
  ...AUTHENTICATION_FAULTS,
  ...SUBMISSION_FAULTS,
  ...REPLAY_FAULTS,
  ...DECISION_FAULTS,
  ...READ_FAULTS,
  ...PROVISIONING_FAULTS,
  ...INSTANCE_FAULTS,
  ...RECEIVER_FAULTS,
  ...VERIFICATION_FAULTS,
  ...NOTIFICATION_FAULTS,
  ...ATTEMPT_FAULTS,
];
