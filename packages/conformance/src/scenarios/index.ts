/** Every scenario, in the order in which they are reported. */

import type { Scenario } from "../scenario.ts";
import { EXPIRING } from "./expiring.ts";
import { PROVISION } from "./provision.ts";

export const SCENARIOS: readonly Scenario[] = [...PROVISION, ...EXPIRING];
