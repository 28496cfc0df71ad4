/**
 * An announcement before it is written for one kind of channel. Tool, instance and arguments
 * are as the agent sent them: the notifier that writes them escapes them.
 */

export type ChannelMessage = CallMessage | DigestMessage | TestMessage;

interface AnyMessage {
  /** The same when it is sent again after a failure; a digest of other calls has another. */
  readonly id: string;
  /** Epoch ms. */
  readonly now: number;
}

/** One call waits. */
export interface CallMessage extends AnyMessage {
  readonly kind: "call";
  readonly requestId: string;
  readonly tool: string;
  readonly instance: { readonly id: string; readonly name: string };
  readonly createdAt: number;
  readonly deadlineAt: number;
  /** It was announced before. */
  readonly isReminder: boolean;
  /** Why people are asked, in the words of policy. */
  readonly note: string | undefined;
  /** The rule, or `no-policy` and its like. */
  readonly because: string;
  readonly approvals: {
    readonly needed: number;
    /** Votes that were cast. */
    readonly given: number;
    /** Sets of `group:x` and `reviewer:y`; empty: any reviewer. */
    readonly from: readonly (readonly string[])[];
  };
  /** JSON text, only where the channel shows arguments. */
  readonly argumentsText: string | undefined;
}

/** Several calls wait. */
export interface DigestMessage extends AnyMessage {
  readonly kind: "digest";
  readonly requestIds: readonly string[];
  /** There are more than these. */
  readonly isMore: boolean;
  readonly earliestDeadlineAt: number;
}

/** A test message, without a request. */
export interface TestMessage extends AnyMessage {
  readonly kind: "test";
  readonly channelName: string;
}
