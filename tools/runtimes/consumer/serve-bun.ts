/**
 * The agent on Bun, with Bun's own HTTP server.
 */

import { createHandler, type Handler } from "./agent.ts";

declare const Bun: {
  serve(options: { hostname: string; port: number; idleTimeout: number; fetch: Handler }): {
    readonly port: number;
  };
};

const handler = createHandler(process.env.SIGNING_SECRETS);
const { port } = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  // Bun closes a connection without traffic after 10 s by default. A call waits longer.
  idleTimeout: 0,
  fetch: (request) => handler(request),
});
console.log(`port ${port}`);
