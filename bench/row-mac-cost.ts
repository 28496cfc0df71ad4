/**
 * CPU time of one MAC of a request row and of an audit entry, as they are computed for each write.
 * Run: node bench/row-mac-cost.ts
 */

import { anyIntegrity } from "./row-integrity.ts";

const integrity = anyIntegrity();
const COUNT = 200_000;
const id = "01a1fb60-92f4-7b1a-8d55-6c0e4f7a2b19";
const entry = [id, id, 1_795_219_042_623, "request.resolved", `reviewer:${id}`, `request:${id}`];
const detail = "d".repeat(400);

for (const [name, values] of [
  ["audit entry", [...entry, detail]],
  ["request, 1 kB of arguments", [...entry, null, null, "a".repeat(1_000)]],
] as const) {
  for (let i = 0; i < 10_000; i++) integrity.macOf("request", values);
  const before = process.cpuUsage();
  for (let i = 0; i < COUNT; i++) integrity.macOf("request", values);
  const { user, system } = process.cpuUsage(before);
  console.log(`${name}: ${((user + system) / COUNT).toFixed(2)} us`);
}
