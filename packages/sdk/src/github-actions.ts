/**
 * Tokens of GitHub Actions for `workloadIdentity`.
 *
 * @see https://docs.github.com/en/actions/reference/security/oidc
 */

import { JsonObject, parseJsonBytes } from "@countersign/protocol";
import { readBody } from "./body.ts";
import { readEnvironment } from "./environment.ts";
import { SdkError } from "./errors.ts";
import { causeOf } from "./network-error.ts";

const ANSWER_BYTES_MAX = 64 * 1024;

const TIMEOUT_MS = 10_000;

/**
 * Requests an OIDC token of the running job. The job needs `permissions: id-token: write`.
 *
 * @param audience of the issuer in the file `workload_identity` of the provider
 * @param send replaces the runtime's `fetch`, for proxies and tests
 * @returns a function for the option `subjectToken` of `workloadIdentity`
 */
export function githubActionsToken(
  audience: string,
  send: typeof fetch = fetch,
): () => Promise<string> {
  return async () => {
    const url = readEnvironment("ACTIONS_ID_TOKEN_REQUEST_URL");
    const token = readEnvironment("ACTIONS_ID_TOKEN_REQUEST_TOKEN");
    if (url === undefined || token === undefined) {
      const message = "This job cannot request a token. Add to its workflow:";
      throw new SdkError("invalid_option", `${message} permissions: { id-token: write }`);
    }
    const target = new URL(url);
    target.searchParams.set("audience", audience);
    return requestToken(target, token, send);
  };
}

async function requestToken(url: URL, token: string, send: typeof fetch): Promise<string> {
  let status: number;
  let value: unknown;
  try {
    const response = await send(url, {
      headers: { accept: "application/json", authorization: `Bearer ${token}` },
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    status = response.status;
    const body = parseJsonBytes(await readBody(response, ANSWER_BYTES_MAX));
    value = body instanceof JsonObject ? body.members.get("value") : undefined;
  } catch (error) {
    const message = `GitHub did not return a token for this job (${causeOf(error)}).`;
    throw new SdkError("unavailable", message);
  }
  if (status === 200 && typeof value === "string") return value;
  throw new SdkError("unavailable", `GitHub did not return a token for this job (${status}).`);
}
