/**
 * The baseline for delivery: signed posts, one after another on each of so many keep-alive
 * connections' worth of places, and nothing else. A child process of the benchmark.
 *
 * Called with the port of the receivers, the number of hosts, how many posts to have under way
 * and how many to send.
 */

import { createHmac, createSecretKey, randomUUID } from "node:crypto";
import { Agent, request } from "node:https";
import { WEBHOOK_HEADERS } from "@countersign/protocol";
import { writeEvent } from "../../packages/server/src/core/notification.ts";
import { hostName, SIGNING_SECRET } from "./messages.ts";

const [port = 0, hosts = 0, places = 0, count = 0] = process.argv.slice(2).map(Number);

const KEY = createSecretKey(SIGNING_SECRET.slice("whsec_".length), "base64");
const INSTANCE_ID = randomUUID();

const agent = new Agent({ keepAlive: true, maxFreeSockets: places });

let sent = 0;

function post(): void {
  if (sent === count) return;
  const host = hostName(sent++ % hosts);
  const id = randomUUID();
  const now = Date.now();
  const event = { id, instanceId: INSTANCE_ID, requestId: randomUUID(), decidedAt: now };
  const body = Buffer.from(writeEvent(event));
  const timestamp = String(Math.floor(now / 1000));
  const signed = createHmac("sha256", KEY).update(`${id}.${timestamp}.`).update(body);
  const headers = {
    "user-agent": "countersign",
    "content-type": "application/json",
    "content-length": body.length,
    [WEBHOOK_HEADERS.id]: id,
    [WEBHOOK_HEADERS.timestamp]: timestamp,
    [WEBHOOK_HEADERS.signature]: `v1,${signed.digest("base64")}`,
  };
  const message = request({ host, port, path: "/hook", method: "POST", headers, agent });
  message.once("response", (response) => {
    if (response.statusCode !== 204) throw new Error(`a post got ${response.statusCode}`);
    response.resume().once("end", post);
  });
  message.end(body);
}

process.once("disconnect", () => process.exit());
process.send?.("started");
for (let i = 0; i < places; i++) post();
