/**
 * Measures how long examining policies takes, and how long it delays other work:
 * `node bench/policy-examination.ts`. No server, no store.
 *
 * For each policy: how long it takes to read where it is, which holds the process, and in the
 * examiner's thread; then the longest event loop iteration meanwhile, and how long it takes to
 * make a policy of what the thread has read.
 */

import { systemClock } from "../packages/server/src/clock.ts";
import { ExaminerThread } from "../packages/server/src/examiner/examiner-thread.ts";
import { packPolicy, unpackPolicy } from "../packages/server/src/examiner/packed-policy.ts";
import { examinePolicy } from "../packages/server/src/policy/examine.ts";
import { describeMachine } from "./machine.ts";
import { spreadOf } from "./statistics.ts";

const RUNS = 10;

const rules = Array.from({ length: 1_000 }, (_, i) => {
  const when =
    `args.amount > ${i + 5000} && args.currency == 'eur' && ` +
    `!args.lines.exists(l, l.price > ${i + 1000}) && has(args.meta.order)`;
  return `  - { id: r${i}, match: { tool: tool${i} }, when: "${when}", then: deny }`;
});
const PATTERNS = "a,".repeat(120_000);
const open = "version: 1\nrules:";

const POLICIES: Readonly<Record<string, string>> = {
  "1,000 rules": `${open}\n${rules.join("\n")}\n`,
  "120,000 patterns": `${open} [{ id: a, match: { tool: [${PATTERNS}a] }, then: deny }]`,
  "80,000 empty lists": `${open} [${"[],".repeat(80_000)}]`,
  "50,000 anchors": `${open} [${"&a a,".repeat(50_000)}]`,
  "60,000 maps inside each other": `${open} ${"{a: ".repeat(60_000)}`,
};

/** @returns the longest event loop iteration while the work lasts, ms */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  let isOver = false;
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  return longest;
}

console.log(describeMachine());
const thread = new ExaminerThread(systemClock);
for (const [name, source] of Object.entries(POLICIES)) {
  const order = { kind: "project", source, runsTests: true, wantsPolicy: true } as const;
  const [here, there, turns, made]: number[][] = [[], [], [], []];
  for (let run = 0; run < RUNS; run++) {
    let start = performance.now();
    const { policy } = examinePolicy({ kind: "project" }, source);
    here?.push(performance.now() - start);
    start = performance.now();
    turns?.push(await longestTurn(() => thread.examine(order)));
    there?.push(performance.now() - start);
    if (policy === undefined) continue;
    const packed = packPolicy(policy);
    start = performance.now();
    await unpackPolicy(source, packed, async () => {});
    made?.push(performance.now() - start);
  }
  const shown = [here, there, turns, made].map((times = []) => {
    const { p50, max } = spreadOf(times);
    return times.length === 0 ? "-" : `${p50.toFixed(0)}/${max.toFixed(0)}`;
  });
  const [a, b, c, d] = shown;
  console.log(`${name}: here ${a}, thread ${b}, longest turn ${c}, made of it ${d} ms (p50/max)`);
}
await thread.close();
