/**
 * The agent on Cloudflare Workers without Node's modules: the handler receives the variables.
 */

import type { HandlerContext } from "@countersign/sdk";
import { createHandler, type Handler } from "./agent.ts";

interface Variables {
  readonly COUNTERSIGN_URL: string;
  readonly COUNTERSIGN_API_KEY: string;
  readonly SIGNING_SECRETS: string;
}

if ("process" in globalThis) throw new Error("This Worker has environment variables.");

let handler: Handler | undefined;

export default {
  fetch(request: Request, variables: Variables, context: HandlerContext): Promise<Response> {
    const { COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: apiKey, SIGNING_SECRETS } = variables;
    handler ??= createHandler(SIGNING_SECRETS, { url, apiKey });
    return handler(request, context);
  },
};
