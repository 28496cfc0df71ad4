/** The conformance kit: does an approval provider keep the contract? */

export { REQUIREMENTS, type Requirement, type RequirementId } from "./contract/index.ts";
export { commandDecider } from "./deciders/command-decider.ts";
export {
  type CountersignDeciderOptions,
  countersignDecider,
} from "./deciders/countersign-decider.ts";
export { type UrlDeciderOptions, urlDecider } from "./deciders/url-decider.ts";
export * from "./options.ts";
export { type CertificateAuthority, createAuthority, isUsable } from "./receiver/certificates.ts";
export { renderJson } from "./render/render-json.ts";
export { renderJunit } from "./render/render-junit.ts";
export { renderList } from "./render/render-list.ts";
export { renderOutcome, renderSummary } from "./render/render-text.ts";
export * from "./report.ts";
export { CannotRun, runConformance } from "./run-conformance.ts";
export type { Need, Scenario } from "./scenario.ts";
export { SCENARIOS } from "./scenarios/index.ts";
