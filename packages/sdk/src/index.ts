/**
 * The agent side of the Approval Provider Interface, for any provider: holds a tool call until it
 * is approved, and runs it at most once. It runs in every runtime with `fetch`. The modules
 * `@countersign/sdk/file-store` and `@countersign/sdk/node` need Node.
 */

export {
  JsonArray,
  JsonNumber,
  JsonObject,
  parseJson,
  splitToolName,
  type ToolIdentity,
} from "@countersign/protocol";
export type { ApprovalRequest, Decision } from "./answer.ts";
export { type ApiKeyRequest, type ApiKeySource, keyFile, tokenFile } from "./api-key.ts";
export {
  ApprovalClient,
  type ApprovalClientOptions,
  type ApprovalProvider,
  type ConsumeOptions,
  type CreateInput,
  type ReadOptions,
} from "./approval-client.ts";
export { systemTiming, type Timing } from "./clock.ts";
export type { OperationOptions } from "./connection.ts";
export { type ConsumptionStore, MemoryStore } from "./consumption-store.ts";
export { Countersign } from "./countersign.ts";
export type { CountersignOptions } from "./countersign-options.ts";
export {
  type CannedOutcome,
  type DevelopmentOptions,
  DevelopmentProvider,
} from "./development-provider.ts";
export type { DecisionWindow, Duration } from "./duration.ts";
export { SdkError, type SdkErrorCode, type SdkErrorDetail } from "./errors.ts";
export { type FrameworkOptions, isNotRun, type NotRun } from "./framework-call.ts";
export { githubActionsToken } from "./github-actions.ts";
export type { PruningOptions } from "./hourly-pruning.ts";
export type { DecisionNotice, Logger, ObserverOptions, PendingNotice } from "./observers.ts";
export { type Probe, probeProvider } from "./probe-provider.ts";
export {
  type CreateInstanceInput,
  Credential,
  type Instance,
  type ProposedDelivery,
  Provisioner,
  type ProvisionerOptions,
  proposeDelivery,
  type UpdateInstanceInput,
} from "./provisioner.ts";
export { type HandlerContext, Receiver, type ReceiverOptions } from "./receiver.ts";
export { MemoryReceiverStore, type ReceiverStore, type ResolvedEvent } from "./receiver-store.ts";
export type {
  Approval,
  Cancelled,
  Denied,
  Executed,
  Expired,
  NotExecuted,
  NotExecutedDetails,
  NotExecutedReason,
  Pending,
  Result,
  Submitted,
  Suspended,
  Unavailable,
  Verdict,
} from "./result.ts";
export type {
  ApprovedTool,
  CallOptions,
  ResumeOptions,
  ToolCall,
  ToolFunction,
} from "./tool-call.ts";
export {
  type ResolvedWebhook,
  type VerificationWebhook,
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookEvent,
} from "./verify-webhook.ts";
export { type WorkloadIdentityOptions, workloadIdentity } from "./workload-identity.ts";
