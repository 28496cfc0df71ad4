/**
 * A message before it is formatted for one kind of channel. Tool, server, instance and arguments
 * are as the agent sent them. The notifier escapes them.
 */

import type { TerminalStatus } from "@countersign/protocol";
import type { Actor } from "../core/actor.ts";
import type { ChannelPost } from "../core/channel.ts";
import type { ConfirmationKind } from "../policy/rule.ts";

/** A new message in a channel. */
export type ChannelMessage = CallMessage | DecisionMessage | DigestMessage | TestMessage;

interface AnyMessage {
  /** Unchanged in a retry after a failure. A digest of other calls has another id. */
  readonly id: string;
  /** Epoch ms. */
  readonly now: number;
}

/** One pending call. */
export interface CallMessage extends AnyMessage {
  readonly kind: "call";
  readonly requestId: string;
  readonly tool: string;
  /** The MCP server of the tool, if the call names one. */
  readonly server: string | undefined;
  readonly instance: { readonly id: string; readonly name: string };
  readonly createdAt: number;
  readonly deadlineAt: number;
  /** True after an earlier announcement. */
  readonly isReminder: boolean;
  /** True when the message announces a step of the escalation. */
  readonly isEscalation: boolean;
  /** Groups that may decide since then, such as "group:x", the earliest first. */
  readonly escalatedTo: readonly string[];
  /** Why the policy requires a review. */
  readonly note: string | undefined;
  /** Id of the rule, or `no-policy` and similar values. */
  readonly because: string;
  readonly approvals: {
    readonly needed: number;
    /** Number of votes. */
    readonly given: number;
    /** Sets of `group:x` and `reviewer:y`; empty: any reviewer. */
    readonly from: readonly (readonly string[])[];
    /** How a reviewer confirms an approval. */
    readonly confirm: ConfirmationKind["kind"];
    readonly isNoteRequired: boolean;
  };
  /** JSON text, only where the channel shows arguments. */
  readonly argumentsText: string | undefined;
  /** Undefined: people cannot decide in the message. */
  readonly buttons: CallButtons | undefined;
}

/** The buttons of a message. A denial is always possible. */
export interface CallButtons {
  readonly nonce: string;
  readonly argumentsSha256: string;
  /** False: only a link, because the approval needs more than the message offers. */
  readonly canApprove: boolean;
}

/** Several pending calls. */
export interface DigestMessage extends AnyMessage {
  readonly kind: "digest";
  readonly requestIds: readonly string[];
  /** True when more calls are pending. */
  readonly isMore: boolean;
  readonly earliestDeadlineAt: number;
}

/** The new content of a message about a call that is pending. */
export interface RefreshedMessage extends AnyMessage {
  readonly kind: "refreshed";
  readonly post: ChannelPost;
  readonly call: CallMessage;
}

/** The outcome of a call. */
export interface CallOutcome {
  readonly status: TerminalStatus;
  /** Epoch ms. */
  readonly decidedAt: number;
  readonly actor: Actor;
  /** Name of the reviewer who decided. */
  readonly decider: string | undefined;
  readonly note: string | undefined;
}

/** The new content of a message about a call that was resolved. */
export interface ResolvedMessage extends AnyMessage {
  readonly kind: "resolved";
  readonly post: ChannelPost;
  readonly call: CallMessage;
  readonly outcome: CallOutcome;
}

/** The decision about a call, as a message of its own. */
export interface DecisionMessage extends AnyMessage {
  readonly kind: "decision";
  readonly call: CallMessage;
  readonly outcome: CallOutcome;
  /** The message about the pending call, for chats that reply in threads. */
  readonly thread: ChannelPost | undefined;
}

/** A test message, without a request. */
export interface TestMessage extends AnyMessage {
  readonly kind: "test";
  readonly channelName: string;
}
