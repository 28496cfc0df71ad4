import { createHmac, timingSafeEqual } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:https";

const { REGISTRATION_ID, SIGNING_SECRET, TLS_CERT, TLS_KEY, PORT = "8443" } = process.env;
const key = Buffer.from(SIGNING_SECRET.slice("whsec_".length), "base64");
const tls = { cert: readFileSync(TLS_CERT), key: readFileSync(TLS_KEY) };

function isSigned(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": at = "", "webhook-signature": all = "" } = headers;
  if (!/^\d+$/.test(at) || Math.abs(Date.now() / 1000 - Number(at)) > 300) return false;
  const hmac = createHmac("sha256", key).update(`${id}.${at}.`).update(body);
  const expected = Buffer.from(`v1,${hmac.digest("base64")}`);
  const given = all.split(" ").map((text) => Buffer.from(text));
  return given.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}

async function receive(request, response) {
  let body = Buffer.of();
  for await (const chunk of request) body = Buffer.concat([body, chunk]).subarray(0, 16_384);
  if (!isSigned(request.headers, body)) return response.writeHead(401).end();
  const { type, registration_id, challenge } = JSON.parse(body);
  const isOther = type === "webhook.verification" && registration_id !== REGISTRATION_ID;
  if (isOther) return response.writeHead(403).end();
  if (type === "request.resolved") appendFileSync("events.jsonl", `${body}\n`, { flush: true });
  response.end(JSON.stringify({ challenge }));
}
// A broken connection must not end the process; an event that was not stored is not acknowledged.
const answer = (request, response) => receive(request, response).catch(() => response.destroy());
createServer(tls, answer).listen(Number(PORT));
