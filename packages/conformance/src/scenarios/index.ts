/** Every scenario, in the order in which they are reported. */

import type { Scenario } from "../scenario.ts";
import { PROVISION } from "./provision.ts";

export const SCENARIOS: readonly Scenario[] = [...PROVISION];
