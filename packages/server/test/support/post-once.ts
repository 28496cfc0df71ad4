/**
 * A process that sends one message through a new egress client and prints the reply. Started by
 * tests of what the environment may not change.
 *
 * Arguments: the URL and, if there is one, that of the forward proxy.
 */

import { parseCidr } from "../../src/core/address.ts";
import { createEgressClient } from "../../src/egress/egress-client.ts";
import { createResolver } from "../../src/egress/resolve-host.ts";
import { systemClock } from "../../src/index.ts";
import { webhookUrl } from "./test-egress.ts";

const [url = "", proxyUrl] = process.argv.slice(2);
const loopback = parseCidr("127.0.0.0/8");
const egress = createEgressClient({
  rules: { allow: loopback === undefined ? [] : [loopback], nat64: [] },
  resolver: createResolver(),
  clock: systemClock,
  proxyUrl,
});
const reply = await egress.post(webhookUrl(url), {
  headers: {},
  body: Buffer.from("{}"),
  timeoutMs: 9_000,
  responseBytesMax: 0,
  freshConnection: true,
});
process.stdout.write(JSON.stringify({ ...reply, body: undefined }));
egress.close();
