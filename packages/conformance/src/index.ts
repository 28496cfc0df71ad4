/** The conformance kit: does an approval provider keep the contract? */

export * from "./options.ts";
export * from "./receiver/certificates.ts";
export * from "./report.ts";
export { REQUIREMENTS, type Requirement, type RequirementId } from "./requirements/index.ts";
export { CannotRun, runConformance } from "./run-conformance.ts";
export type { Need, Scenario } from "./scenario.ts";
export { SCENARIOS } from "./scenarios/index.ts";
