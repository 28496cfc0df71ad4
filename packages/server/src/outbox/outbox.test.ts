import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { WIDE_BOUNDS } from "../../test/support/slots.ts";
import type { Context } from "../context.ts";
import { DestinationLimits } from "../delivery/destination-limits.ts";
import { Report } from "../report.ts";
import { LocalWake } from "../wake/local-wake.ts";
import { AuditDestination } from "./audit-destination.ts";
import { ChannelDestination } from "./channel-destination.ts";
import type { Destination, OutboxQueue } from "./destination.ts";
import { Outbox } from "./outbox.ts";
import { PushDestination } from "./push-destination.ts";
import { WebhookDestination } from "./webhook-destination.ts";

const LEASE_MS = 12_000;

/** Of every kind: its own queue and attributes, with claims, attempts and records of the test. */
const KINDS = {
  webhook: {
    create: WebhookDestination,
    item: { projectId: "p", provisionerId: "a", url: "https://h.example/" },
  },
  channel: { create: ChannelDestination, item: { projectId: "p", group: "p" } },
  push: { create: PushDestination, item: { group: "" } },
  "audit stream": {
    create: class extends AuditDestination {
      constructor(context: Context, report: Report) {
        super(context, report, { kind: "http", send: async () => assert.fail(), close: () => {} });
      }
    },
    item: { group: "" },
  },
};

type Step = "claim" | "attempt" | "record";

interface Claim {
  readonly id: string;
  readonly endsBy: number;
}

class TestOutbox {
  readonly clock = new ManualClock();
  readonly steps: string[] = [];
  readonly failures: string[] = [];
  readonly outbox: Outbox<object, Claim, object, { readonly kind: string }>;
  /** Claims that are due. */
  due: string[] = [];
  /** Called at each step; a rejection fails it. */
  on: (step: Step, id: string) => Promise<void> = async () => {};

  constructor({ create, item }: (typeof KINDS)[keyof typeof KINDS]) {
    const { clock } = this;
    const report = new Report("silent");
    report.dependencyFailed = (name) => void this.failures.push(name);
    const delivery = { limits: new DestinationLimits(WIDE_BOUNDS, clock) };
    const { queue, ...rest } = new create({ clock, delivery } as never, report);
    const add = queue.add.bind(queue) as (item: object) => void;
    const destination: Destination<object, Claim, object, { readonly kind: string }> = {
      ...rest,
      queue: queue as unknown as OutboxQueue<object>,
      scan: async () => {
        if (this.due.length > 0) add({ ...item, id: "item", instanceId: "item" });
        return undefined;
      },
      onSignal: () => undefined,
      claim: async (_, slots) => {
        const endsBy = clock.monotonic() + LEASE_MS;
        await this.#step("claim", this.due[0] ?? "nothing");
        const claimed = this.due.splice(0, slots).map((id) => ({ id, endsBy }));
        return { claimed, more: this.due.length > 0 };
      },
      attempt: async ({ id }) => {
        await this.#step("attempt", id);
        return { kind: "sent" };
      },
      record: async ({ id }, outcome) => {
        await this.#step("record", id);
        return outcome as { readonly kind: string };
      },
      report: () => undefined,
      attempted: () => undefined,
      release: ({ id }) => void this.steps.push(`release ${id}`),
    };
    this.outbox = new Outbox({ clock, wake: new LocalWake() }, report, destination);
  }

  async #step(step: Step, id: string): Promise<void> {
    this.steps.push(`${step} ${id}`);
    await this.on(step, id);
  }

  /** Lets work happen that needs this time. */
  async pass(ms: number): Promise<void> {
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    this.clock.advance(ms);
    for (let turn = 0; turn < 10; turn++) {
      await nextTurn();
      this.clock.advance(0);
    }
  }
}

for (const [name, kind] of Object.entries(KINDS)) {
  test(`${name}: what is due is claimed, attempted, recorded and released`, async () => {
    const scene = new TestOutbox(kind);
    scene.due = ["a"];
    await scene.pass(1_000);
    await scene.outbox.stop();
    assert.deepEqual(scene.steps.slice(0, 4), ["claim a", "attempt a", "record a", "release a"]);
  });

  test(`${name}: a failed record is tried five times, the attempt once`, async () => {
    const scene = new TestOutbox(kind);
    scene.due = ["a"];
    scene.on = async (step) => {
      if (step === "record") throw new Error("down");
    };
    for (let second = 0; second < 6; second++) await scene.pass(1_000);
    await scene.outbox.stop();
    const counts = ["claim a", "attempt a", "record a", "release a"].map(
      (step) => scene.steps.filter((each) => each === step).length,
    );
    assert.deepEqual(counts, [1, 1, 5, 1]);
    assert.equal(scene.failures.length, 1);
  });

  test(`${name}: a claim late in its lease is released without an attempt`, async () => {
    const scene = new TestOutbox(kind);
    scene.due = ["a"];
    scene.on = async (step) => {
      if (step === "claim") scene.clock.stop(LEASE_MS);
    };
    await scene.pass(1_000);
    await scene.outbox.stop();
    assert.deepEqual(scene.steps.slice(0, 3), ["claim a", "record a", "release a"]);
  });

  test(`${name}: a claim that fails is reported, and what is due is claimed later`, async () => {
    const scene = new TestOutbox(kind);
    scene.due = ["a"];
    let isDown = true;
    scene.on = async () => {
      if (isDown) throw new Error("down");
    };
    await scene.pass(1_000);
    assert.deepEqual(scene.steps, ["claim a"]);
    assert.equal(scene.failures.length, 1);
    isDown = false;
    await scene.pass(15_000);
    await scene.pass(1_000);
    await scene.outbox.stop();
    assert.ok(scene.steps.includes("release a"), String(scene.steps));
  });

  test(`${name}: stop waits for the attempt and its record, and starts nothing`, async () => {
    const scene = new TestOutbox(kind);
    scene.due = ["a", "b"];
    const attempt = Promise.withResolvers<void>();
    scene.on = async (step, id) => {
      if (step === "attempt" && id === "a") await attempt.promise;
    };
    await scene.pass(1_000);
    const stopping = scene.outbox.stop();
    attempt.resolve();
    await stopping;
    assert.deepEqual(scene.steps.slice(-2), ["record a", "release a"]);
  });
}
