/**
 * A SIEM as a destination of the outbox. Each log is sent one batch at a time, in the order of its
 * positions.
 */

import type { Context } from "../context.ts";
import { type SendOutcome, sendingStatus, sendingText } from "../core/channel.ts";
import type { AuditSink } from "../delivery/audit-sink.ts";
import { Failure } from "../failure.ts";
import { type ClaimedStream, claimStream } from "../operations/audit/claimStream.ts";
import { readStreamBatch } from "../operations/audit/readStreamBatch.ts";
import { type RecordedStream, recordStreamed } from "../operations/audit/recordStreamed.ts";
import type { Report } from "../report.ts";
import { isStreamClaimed, readDueStreams } from "../storage/sql/audit/audit-streams.ts";
import { readClaim } from "./current-claim.ts";
import type { Claimed, Destination } from "./destination.ts";
import { type SerialItem, SerialQueue } from "./serial-queue.ts";

/** From DNS to the response. */
const SENDING_MS = 8_000;

/** Maximum logs that this process sends at the same time. In a file, lines must not be mixed. */
const SERVED_MAX = { http: 4, file: 1 } as const;

/** Maximum for one scan. The next scan continues with the last project. */
const STREAMS_MAX = 500;

interface StreamOutcome {
  readonly sending: SendOutcome;
  /** Number of entries in the batch. */
  readonly entries: number;
  /** Position after the last one. */
  readonly next: number;
}

const NOTHING = { entries: 0, next: 0 };

/** The entries of one log cannot be read. This says nothing about the sink. */
const UNREADABLE: StreamOutcome = {
  ...NOTHING,
  sending: { kind: "unreachable", reason: "unreadable" },
};

export class AuditDestination
  implements Destination<SerialItem, ClaimedStream, StreamOutcome, RecordedStream>
{
  readonly name = "streaming";
  readonly attemptMs = SENDING_MS;
  readonly isSerial = true;
  readonly postponed: StreamOutcome = { ...NOTHING, sending: { kind: "unwanted" } };
  readonly defect: StreamOutcome = {
    ...NOTHING,
    sending: { kind: "unreachable", reason: "internal" },
  };
  readonly queue: SerialQueue<SerialItem>;
  readonly #context: Context;
  readonly #report: Report;
  readonly #sink: AuditSink;
  #scanFrom = "";

  constructor(context: Context, report: Report, sink: AuditSink) {
    this.#context = context;
    this.#report = report;
    this.#sink = sink;
    this.queue = new SerialQueue({ totalMax: SERVED_MAX[sink.kind] });
  }

  async scan(): Promise<undefined> {
    const { store, clock } = this.#context;
    const page = { from: this.#scanFrom, limit: STREAMS_MAX };
    const due = await readDueStreams(store, this.#sink.kind, clock.now(), page);
    // So that projects with constant activity do not keep others from a scan.
    this.#scanFrom = due.length < STREAMS_MAX ? "" : (due.at(-1) ?? "");
    for (const projectId of due) this.queue.add({ id: projectId, group: "" });
    return undefined;
  }

  /** The scan finds sealed entries within a second. */
  onSignal(): undefined {}

  async claim({ id: projectId }: SerialItem): Promise<Claimed<ClaimedStream>> {
    const claim = await claimStream(this.#context, { projectId, sink: this.#sink.kind });
    return { claimed: claim === undefined ? [] : [claim], more: false };
  }

  async attempt(claim: ClaimedStream): Promise<StreamOutcome> {
    const batch = await this.#readBatch(claim);
    if (batch === undefined) return UNREADABLE;
    const { id, lines, next } = batch;
    const isWanted = (leftMs: number) => this.#isStillClaimed(claim, leftMs);
    const limits = { timeoutMs: SENDING_MS, endsBy: claim.endsBy, isWanted };
    const sending: SendOutcome =
      lines.length === 0
        ? { kind: "sent", status: 0 }
        : await this.#sink.send({ ...limits, id, lines });
    return { sending, entries: lines.length, next };
  }

  /** @returns undefined for a damaged log, which must not stop the others */
  async #readBatch(claim: ClaimedStream) {
    const { settings } = this.#context;
    try {
      return await readStreamBatch(this.#context, claim, settings.auditStream.format);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#report.dependencyFailed(error.dependency, error);
      return undefined;
    }
  }

  /** A paused process must not send old entries after the newer ones of another replica. */
  #isStillClaimed(claim: ClaimedStream, leftMs: number): Promise<boolean> {
    return readClaim(this.#context, (reader, now) =>
      isStreamClaimed(reader, claim, claim.fence, Math.ceil(now + leftMs)),
    );
  }

  record(claim: ClaimedStream, { sending, next }: StreamOutcome): Promise<RecordedStream> {
    return recordStreamed(this.#context, claim, sending, next);
  }

  report(
    { projectId }: ClaimedStream,
    outcome: StreamOutcome,
    result: RecordedStream,
    durationMs: number,
  ): void {
    const { sending, entries } = outcome;
    if (sending.kind === "unwanted" || outcome === UNREADABLE) return;
    this.#report.auditStreamed({
      sink: this.#sink.kind,
      projectId,
      entries,
      outcome: sendingText(sending),
      isSent: sending.kind === "sent",
      status: sendingStatus(sending),
      durationMs,
      retryInMs: result.kind === "rests" ? result.ms : undefined,
    });
  }
}
