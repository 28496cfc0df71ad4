/**
 * Providers that can no longer answer, with the stage that was set while they
 * still could.
 */

import { ManualClock } from "./manual-clock.ts";
import { callOperation, type Stage, setStage } from "./operation-calls.ts";
import { hideTables } from "./store-faults.ts";
import { type Lifetime, startTestProvider, type TestProvider } from "./test-provider.ts";

export interface FailingProvider {
  readonly server: TestProvider;
  readonly stage: Stage;
}

/** Answers 429 to both credentials of its stage. */
export async function startExhausted(t: Lifetime): Promise<FailingProvider> {
  const settings = { instance_rate: "1", provisioner_rate: "1" };
  const server = await startTestProvider(t, { clock: new ManualClock(), settings });
  const stage = await setStage(server);
  for (const operation of ["getInstance", "getApprovalRequest"] as const) {
    while ((await callOperation(server, operation, stage)).status !== 429);
  }
  return { server, stage };
}

/** Answers 500: the tables of its resources are gone. */
export async function startBroken(t: Lifetime): Promise<FailingProvider> {
  const server = await startTestProvider(t);
  const stage = await setStage(server);
  await hideTables(server, "instance", "request");
  return { server, stage };
}

/** Answers 503: its store is closed. */
export async function startUnavailable(t: Lifetime): Promise<FailingProvider> {
  const server = await startTestProvider(t);
  const stage = await setStage(server);
  await server.provider.context.store.close();
  return { server, stage };
}
