/**
 * A receiver of webhooks that needs only Node: stores every message once, then acknowledges it.
 *
 *   node receiver.mjs [FOLDER] [PORT]
 *
 * FOLDER holds tls-key.pem, tls-cert.pem and registrations.json: {"registration id": "whsec_..."}.
 * The receiver appends messages to messages.jsonl there, and prints new events.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const BODY_BYTES_MAX = 16_384;
const TOLERANCE_S = 300;

const [folder = ".", port = "8443"] = process.argv.slice(2);
const read = (name) => readFileSync(join(folder, name), "utf8");

/** Ids of messages that are on disk, and "instance registration" of what was verified. */
const known = new Set();

function judge(headers, body, message) {
  const { id, type, instance_id, registration_id, request_id, challenge } = message;
  const isEvent = type === "request.resolved";
  const ids = [id, instance_id, ...(isEvent ? [request_id] : [registration_id, challenge])];
  const isWhole = [headers["webhook-id"], ...ids].every((text) => UUID.test(text));
  if (!isWhole || (isEvent ? id !== headers["webhook-id"] : type !== "webhook.verification")) {
    return 400;
  }
  // An event names no registration: those that its instance was verified under have the secret.
  const secrets = Object.entries(JSON.parse(read("registrations.json"))).filter(([name]) =>
    isEvent ? known.has(`${instance_id} ${name}`) : name === registration_id,
  );
  if (!isEvent && secrets.length === 0) return 403;
  if (!secrets.some(([, secret]) => isSigned(secret, headers, body))) return 401;
  return isEvent ? 204 : 200;
}

function isSigned(secret, headers, body) {
  const { "webhook-id": id, "webhook-timestamp": timestamp = "" } = headers;
  const ageS = Date.now() / 1000 - Number(timestamp);
  if (!/^\d+$/.test(timestamp) || Math.abs(ageS) > TOLERANCE_S) return false;
  const hmac = createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"));
  const digest = hmac.update(`${id}.${timestamp}.`).update(body).digest("base64");
  const expected = Buffer.from(`v1,${digest}`);
  return (headers["webhook-signature"] ?? "").split(" ").some((text) => {
    const given = Buffer.from(text);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** On disk when it returns. A line that a crash cut off stays a line of its own. */
function keep(message) {
  if (known.has(message.id)) return;
  appendFileSync(join(folder, "messages.jsonl"), `\n${JSON.stringify(message)}`, { flush: true });
  remember(message);
  // From here on, and not before this is answered: GET {base_url}/v1/requests/{request_id} with
  // the credential of the instance. Only that says what was decided.
  if (message.type === "request.resolved") console.log(JSON.stringify(message));
}

function remember({ id, type, instance_id, registration_id }) {
  known.add(id);
  if (type === "webhook.verification") known.add(`${instance_id} ${registration_id}`);
}

function parse(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

async function receive(request, response) {
  try {
    const chunks = [];
    let bytes = 0;
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
    }
    const body = bytes <= BODY_BYTES_MAX ? Buffer.concat(chunks) : Buffer.of();
    const message = parse(body);
    const status = judge(request.headers, body, message);
    if (status < 300) keep(message);
    const { challenge } = message;
    response.writeHead(status, status === 200 ? { "content-type": "application/json" } : {});
    response.end(status === 200 ? JSON.stringify({ challenge }) : undefined);
  } catch (error) {
    // It is not on disk, so it is not acknowledged and comes again.
    console.error(error);
    response.writeHead(503, { "retry-after": "5" }).end();
  }
}

appendFileSync(join(folder, "messages.jsonl"), "");
for (const line of read("messages.jsonl").split("\n")) remember(parse(line));
const tls = { key: read("tls-key.pem"), cert: read("tls-cert.pem"), requestTimeout: 10_000 };
const server = createServer(tls, receive).listen(Number(port), () => {
  console.log(`listening on port ${server.address().port}`);
});
server.on("error", ({ message }) => {
  console.error(`cannot listen: ${message}`);
  process.exitCode = 1;
});
