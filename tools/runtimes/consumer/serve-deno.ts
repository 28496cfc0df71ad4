/**
 * The agent on Deno, with Deno's own HTTP server.
 */

import { createHandler, type Handler } from "./agent.ts";

declare const Deno: {
  serve(
    options: {
      hostname: string;
      port: number;
      onListen: (address: { readonly port: number }) => void;
    },
    handler: Handler,
  ): unknown;
};

const handler = createHandler(process.env.SIGNING_SECRETS);
const onListen = ({ port }: { readonly port: number }) => console.log(`port ${port}`);
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, (request) => handler(request));
