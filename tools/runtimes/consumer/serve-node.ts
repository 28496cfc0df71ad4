/**
 * The agent on Node, with Node's own HTTP server.
 */

import { createServer } from "node:http";
import { nodeHandler } from "@countersign/sdk/node";
import { createHandler } from "./agent.ts";

const fetch = createHandler(process.env.SIGNING_SECRETS);
const server = createServer(nodeHandler({ fetch }));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(`port ${typeof address === "object" && address?.port}`);
});
