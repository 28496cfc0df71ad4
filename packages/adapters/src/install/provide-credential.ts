/**
 * The credential of the agent: given, or of an instance that is made for it.
 *
 * Called by: install and uninstall. Promises: a token of a provisioner is used and not kept.
 */

import { hostname } from "node:os";
import { Client, Provisioner, type SdkError, systemTiming } from "@countersign/sdk";
import type { Agent } from "../agents.ts";

/** A person waits. */
const WITHIN_MS = 10_000;

/** For a look that changes nothing and can be had again. */
const PROBE_MS = 3_000;

export interface AgentCredential {
  readonly token: string;
  readonly instanceId: string | undefined;
}

/** @throws SdkError */
export async function makeInstance(
  agent: Agent,
  url: string,
  provisionerToken: string,
  name: string | undefined,
): Promise<AgentCredential> {
  const provisioner = new Provisioner(url, provisionerToken, { withinMs: WITHIN_MS });
  const given = name ?? `${agent.name} on ${hostname()}`;
  const { instance, credential } = await provisioner.create({ name: given });
  return { token: credential.take(), instanceId: instance.id };
}

/** @throws SdkError */
export async function deleteInstance(url: string, provisionerToken: string, id: string) {
  await new Provisioner(url, provisionerToken, { withinMs: WITHIN_MS }).delete(id);
}

/** What is seen of a provider by asking for a request that does not exist. */
export interface Probe {
  readonly kind: "works" | "refused" | "unreachable";
  /** Words for people. */
  readonly text: string;
  /** How far its clock is ahead of ours, when it said. */
  readonly aheadMs: number | undefined;
}

/** Asks nothing of anybody. */
export async function probeProvider(url: string, token: string): Promise<Probe> {
  let date: string | null = null;
  const watched: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    date = response.headers.get("date");
    return response;
  };
  const ahead = () => (date === null ? undefined : Date.parse(date) + 500 - systemTiming.now());
  try {
    const client = new Client(url, token, { fetch: watched, withinMs: PROBE_MS });
    await client.read(crypto.randomUUID());
    return { kind: "unreachable", text: "It knows a request that nobody made.", aheadMs: ahead() };
  } catch (error) {
    const { code, status, message } = Object(error) as SdkError;
    const text = message ?? "unknown";
    if (code === "refused" && status === 404) {
      return { kind: "works", text: "It knows the credential.", aheadMs: ahead() };
    }
    const kind = code === "refused" || code === "invalid_option" ? "refused" : "unreachable";
    return { kind, text, aheadMs: ahead() };
  }
}
