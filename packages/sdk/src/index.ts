/**
 * The agent side of the Approval Provider Interface, for any provider: holds a tool call until it
 * is approved, and runs it at most once. It runs in every runtime with `fetch`. The modules
 * `@countersign/sdk/file-store` and `@countersign/sdk/node` need Node.
 */

export { JsonArray, JsonNumber, JsonObject, parseJson } from "@countersign/protocol";
export type { ApprovalRequest, Decision } from "./answer.ts";
export {
  type Approvals,
  Client,
  type ClientOptions,
  type CreateInput,
  type ReadOptions,
} from "./client.ts";
export { systemTiming, type Timing } from "./clock.ts";
export type { OperationOptions } from "./connection.ts";
export { type ConsumptionStore, MemoryStore } from "./consumption-store.ts";
export {
  type CannedOutcome,
  DevelopmentClient,
  type DevelopmentOptions,
} from "./development-client.ts";
export { SdkError, type SdkErrorCode } from "./errors.ts";
export { type Call, Gate, type GateOptions } from "./gate.ts";
export { type Probe, probeProvider } from "./probe-provider.ts";
export {
  type CreateInstanceInput,
  Credential,
  type Instance,
  type ProposedDelivery,
  Provisioner,
  proposeDelivery,
  type UpdateInstanceInput,
} from "./provisioner.ts";
export { type HandlerContext, Receiver, type ReceiverOptions, type Resumer } from "./receiver.ts";
export { MemoryReceiverStore, type ReceiverStore, type ResolvedEvent } from "./receiver-store.ts";
export type { Approved, NotPermitted, Outcome, Pending, RefusalKind, Verdict } from "./verdict.ts";
