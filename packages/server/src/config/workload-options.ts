/** The setting of workload identity, for the table in options.ts. */

import type { Option } from "./option.ts";

export const WORKLOAD_OPTIONS = [
  {
    name: "workload_identity",
    type: "text",
    default: undefined,
    value: "FILE",
    group: "workloads",
    help: "YAML file with the issuers and rules of workload identity. Unset: off.",
  },
] as const satisfies readonly Option[];
