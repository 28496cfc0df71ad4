/**
 * The agent on Cloudflare Workers with environment variables: it starts before the first request.
 */

import type { HandlerContext } from "@countersign/sdk";
import { createHandler } from "./agent.ts";

const handler = createHandler(process.env.SIGNING_SECRETS);

export default {
  fetch(request: Request, _variables: object, context: HandlerContext): Promise<Response> {
    return handler(request, context);
  },
};
