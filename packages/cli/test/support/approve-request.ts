import { Agent, exchange, makeToken, provision, SUBMISSION } from "@countersign/testing/agents";
import type { Server } from "@countersign/testing/countersign";

/** Submits a request as a new agent, and approves it as a reviewer. @returns its id */
export async function approveRequest(server: Server): Promise<string> {
  const { url, data } = server;
  const reviewer = await makeToken(data, { kind: "reviewer" });
  const { credential } = await provision(server, await makeToken(data, { kind: "provisioner" }));
  const { id } = (await new Agent(url, credential.token).post("k", SUBMISSION)).json;
  const path = `${url}/review/v1/requests/${id}`;
  const shown = await exchange<{ arguments_sha256: string }>("GET", path, reviewer);
  const { arguments_sha256 } = shown.json;
  await exchange("POST", `${path}/verdict`, reviewer, { verdict: "approve", arguments_sha256 });
  return id;
}
