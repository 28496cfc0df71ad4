import type { RequirementTable } from "./requirement.ts";

const SECTION = "What the service does";

export const SERVICE = {
  "service.operations": {
    source: `${SECTION}, 6`,
    text: "All seven operations answer at the method and path of the contract.",
    check: "scenario",
  },
  "service.https": {
    source: `${SECTION}, 5`,
    text: "Outside of local development the provider is reached over HTTPS.",
    check: "scenario",
  },
  "service.response.unwrapped": {
    source: `${SECTION}, 5`,
    text: "A success body is the resource itself, with no wrapper object.",
    check: "every answer",
  },
  "service.denied-is-success": {
    source: `${SECTION}, 4`,
    text: "Reading a denied request is a 200 whose status is `denied`.",
    check: "scenario",
  },
  "service.synchronous-only": {
    source: `${SECTION}, 6`,
    text:
      "A provider without asynchronous mode refuses a delivery with " +
      "`unsupported_delivery_type`.",
    check: "scenario",
  },
  "service.execution": {
    source: `${SECTION}, 4`,
    text: "A tool call starts only while its request is approved and the approval has not expired.",
    untestable: "it binds adapters; a provider does not start tool calls",
  },
} as const satisfies RequirementTable;
