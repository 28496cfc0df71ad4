/**
 * An agent of a user as one fetch handler, which runs unchanged on every runtime. A request with
 * the header `x-step` runs one step. Every other request is a webhook.
 */

import {
  Countersign,
  type CountersignOptions,
  type HandlerContext,
  MemoryReceiverStore,
  MemoryStore,
  type Pending,
  Receiver,
  type Result,
  SdkError,
  systemTiming,
  verifyWebhook,
} from "@countersign/sdk";

export type Handler = (request: Request, context?: HandlerContext) => Promise<Response>;

interface Refund {
  readonly order: string;
}

interface Step {
  readonly key: string;
  readonly order: string;
  /** Of another provider. */
  readonly url?: string;
}

/**
 * @param signingSecrets signing secrets by registration id, as JSON
 * @param options of `new Countersign()`; none on a runtime with environment variables
 */
export function createHandler(
  signingSecrets: string | undefined,
  options: CountersignOptions = {},
): Handler {
  const secrets = JSON.parse(signingSecrets ?? "{}") as Readonly<Record<string, string>>;
  let refunds = 0;
  const suspended = new Map<string, Pending<Refund>>();
  const resumed: string[] = [];

  const refund = ({ order }: Refund) => {
    refunds++;
    return `refunded ${order}`;
  };
  const approvals = new Countersign(options);
  const createRefund = approvals.tool("refunds.create", refund);
  const stored = new Countersign({ ...options, store: new MemoryStore() });
  const createStoredRefund = stored.tool("refunds.create", refund);

  const receiver = new Receiver({
    registrations: secrets,
    store: new MemoryReceiverStore(),
    onResolved: async ({ requestId }) => {
      const pending = suspended.get(requestId);
      if (pending === undefined) return;
      const result = await createRefund.resume(pending);
      if (result.status === "pending") throw new Error("not decided");
      resumed.push(result.status === "executed" ? result.value : result.reason);
    },
  });

  const describe = (result: Result<string, Refund>) => ({
    status: result.status,
    reason: result.reason,
    value: result.status === "executed" ? result.value : result.messageForModel,
    requestId: result.requestId,
    reviewUrl: result.reviewUrl,
    note: result.status === "pending" ? undefined : result.note,
    refunds,
  });

  const steps: Readonly<
    Record<string, (step: Step, context: HandlerContext) => Promise<object> | object>
  > = {
    refund: async ({ order, key }) =>
      describe(await createRefund({ order }, { idempotencyKey: key })),
    "stored refund": async ({ order, key }) =>
      describe(await createStoredRefund({ order }, { idempotencyKey: key })),
    "abandoned refund": async ({ order, key }, context) => {
      const abandoning = new AbortController();
      const impatient = new Countersign({
        ...options,
        onPending: () => abandoning.abort(),
      });
      const { signal } = abandoning;
      const call = { tool: "refunds.create", arguments: { order }, idempotencyKey: key, signal };
      const result = await impatient.run(call, refund);
      // The cancellation of the request continues after the response.
      context.waitUntil?.(impatient.settled());
      return describe(result);
    },
    "refund elsewhere": async ({ order, key, url }) => {
      // A pause advances this clock at once.
      let pausedMs = 0;
      const timing = {
        ...systemTiming,
        monotonic: () => systemTiming.monotonic() + pausedMs,
        sleep: async (ms: number) => {
          pausedMs += ms;
        },
      };
      const elsewhere = new Countersign({ url: url ?? "", apiKey: "unused", timing });
      const call = { tool: "refunds.create", arguments: { order }, idempotencyKey: key };
      const result = await elsewhere.run(call, refund);
      return { ...describe(result), pausedMs };
    },
    "suspended refund": async ({ order, key }) => {
      const result = await createRefund({ order }, { idempotencyKey: key, wait: false });
      if (result.status === "pending") suspended.set(result.requestId, result.pending);
      return describe(result);
    },
    resumed: () => resumed,
  };

  return async (request, context = {}) => {
    const name = request.headers.get("x-step");
    if (name === null) return receiver.fetch(request, context);
    if (name === "verify") return Response.json(await verify(request, Object.values(secrets)));
    const step = steps[name];
    if (step === undefined) return new Response(`unknown step ${name}`, { status: 400 });
    try {
      return Response.json(await step((await request.json()) as Step, context));
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  };
}

async function verify(request: Request, secrets: readonly string[]): Promise<object> {
  try {
    const { type } = await verifyWebhook(request, secrets);
    return { type };
  } catch (error) {
    return { code: error instanceof SdkError ? error.code : String(error) };
  }
}
