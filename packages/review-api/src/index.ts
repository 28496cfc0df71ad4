/** The reviewer API as data: operations, schemas, exact JSON, and a typed client. */

export * from "./absences.ts";
export * from "./account.ts";
export * from "./audit.ts";
export * from "./channels.ts";
export * from "./chat.ts";
export * from "./comments.ts";
export * from "./deliveries.ts";
export * from "./events.ts";
export * from "./exact.ts";
export * from "./freezes.ts";
export * from "./grants.ts";
export * from "./history.ts";
export * from "./instances.ts";
export * from "./invitations.ts";
export * from "./oncall.ts";
export * from "./operation.ts";
export * from "./operation-errors.ts";
export * from "./operations.ts";
export * from "./passkeys.ts";
export * from "./people.ts";
export * from "./policy.ts";
export * from "./policy-rules.ts";
export {
  type Moment,
  type PolicyCheck,
  type PolicyOutline,
  type PolicyPath,
  type PolicyProposal,
  type PolicyTest,
  type ProposalOutline,
  type PublishedPolicy,
  policyCheck,
  policyOutline,
  policyProposal,
  proposalOutline,
  publishedPolicy,
  type RuleSuggestions,
  type ShownPolicy,
  SIMULATION,
  type SimulatedChange,
  type SimulationEvent,
  type SimulationSummary,
  shownPolicy,
  simulationEvent,
} from "./policy-shapes.ts";
export * from "./push.ts";
export * from "./read-input.ts";
export * from "./requests.ts";
export * from "./roles.ts";
export { type Cursor, type DeliveryAttempt, writeCursor } from "./schema.ts";
export * from "./search.ts";
export * from "./session.ts";
export * from "./statistics.ts";
export * from "./tokens.ts";
export * from "./tool-change.ts";
