/**
 * Creates and deletes the instance of an agent with a provisioner token, which is not stored.
 */

import { hostname } from "node:os";
import type { Agent } from "@countersign/agents";
import { Provisioner } from "@countersign/sdk";

/** A user waits for the result. */
const RETRY_FOR = "10s";

export interface AgentCredential {
  readonly token: string;
  readonly instanceId: string | undefined;
}

/** @throws SdkError */
export async function createInstance(
  agent: Agent,
  url: string,
  provisionerToken: string,
  name = `${agent.name} on ${hostname()}`,
): Promise<AgentCredential> {
  const provisioner = new Provisioner({ url, token: provisionerToken, retryFor: RETRY_FOR });
  const { instance, credential } = await provisioner.create({ name });
  return { token: credential.take(), instanceId: instance.id };
}

/** @throws SdkError */
export async function deleteInstance(url: string, provisionerToken: string, id: string) {
  await new Provisioner({ url, token: provisionerToken, retryFor: RETRY_FOR }).delete(id);
}
