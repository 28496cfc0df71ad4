/**
 * Measures one evaluation of a policy: `node bench/policy-cost.ts [RULES]`. No server, no store.
 *
 * Half of the rules name another tool, as in a policy that has grown. Of the others every condition
 * reads several fields and twice each item of a list, and none fires: the evaluator runs all of it.
 *
 * Then what policies and calls can do at worst: 400 rules that each take as long as they may, with
 * the largest arguments that are taken.
 */

import { JsonObject, parseJson } from "@countersign/protocol";
import { evaluatePolicies } from "../packages/server/src/policy/evaluate.ts";
import { loadPolicy } from "../packages/server/src/policy/load.ts";
import type { Call, Policy } from "../packages/server/src/policy/rule.ts";
import { describeMachine } from "./machine.ts";
import { spreadOf } from "./statistics.ts";

const RUNS = 20_000;
const WARM_UP = 5_000;

const VERBS = ["ask", "approve", "deny"];

function policyOf(rules: number): Policy {
  const lines = Array.from({ length: rules }, (_, i) => {
    const tool = i % 2 === 0 ? "stripe.*" : `tool${i}`;
    const when =
      `args.amount > ${i + 5000} && args.currency == 'eur' && ` +
      `!args.lines.exists(l, l.price > ${i + 1000}) && has(args.meta.order)`;
    const or = `${when} || args.lines.exists(l, l.price > ${i + 9000})`;
    const then = VERBS[i % VERBS.length];
    return `  - { id: r${i}, match: { tool: "${tool}" }, when: "${or}", then: ${then} }`;
  });
  return loadPolicy(`version: 1\nrules:\n${lines.join("\n")}\n`, { kind: "project" });
}

function call(): Call {
  const lines = Array.from({ length: 5 }, (_, i) => `{"price":${i}.5,"name":"item ${i}"}`);
  const args = parseJson(
    `{"amount":4200,"currency":"eur","lines":[${lines.join(",")}],"meta":{"order":"a-17"}}`,
  );
  if (!(args instanceof JsonObject)) throw new Error("no object");
  const instance = { id: "0190", name: "bot-1", groups: ["support-bots"] };
  return { tool: "stripe.refund", args, context: undefined, instance, now: 1_700_000_000_000 };
}

const rules = Number(process.argv[2] ?? 200);
const project = policyOf(rules);
const times: number[] = [];
let began = process.cpuUsage();
for (let run = 0; run < WARM_UP + RUNS; run++) {
  if (run === WARM_UP) began = process.cpuUsage();
  const toolCall = call();
  const start = performance.now();
  evaluatePolicies({ project }, toolCall);
  const took = performance.now() - start;
  if (run >= WARM_UP) times.push(took);
}
const { user, system } = process.cpuUsage(began);
const cpu = ((user + system) / 1000 / RUNS).toFixed(3);
const { p50, p99, max } = spreadOf(times);
const shown = [p50, p99, max].map((ms) => ms.toFixed(3)).join(" / ");
console.log(describeMachine());
console.log(`${rules} rules, ${RUNS} evaluations: p50 / p99 / max ${shown} ms, CPU ${cpu} ms`);

const items = Array.from({ length: 100_000 }, (_, i) => i).join(",");
const text = "ab".repeat(150_000);
const hostileArgs = `{"l":[${items}],"s":"${text}","t":"b"}`;
const HOSTILE = [
  "args.l.all(x, args.l == args.l)",
  "args.l.all(x, !args.s.contains(args.t))",
  "args.l.all(x, !glob(args.s, '*?a?b*?a?c*'))",
  "args.l.map(x, args.s + args.s).size() > 0",
];
for (const when of HOSTILE) {
  const lines = Array.from(
    { length: 400 },
    (_, i) => `  - { id: r${i}, when: "${when}", then: deny }`,
  );
  const hostile = loadPolicy(`version: 1\nrules:\n${lines.join("\n")}\n`, { kind: "project" });
  const runs: number[] = [];
  for (let run = 0; run < 20; run++) {
    const args = parseJson(hostileArgs);
    if (!(args instanceof JsonObject)) throw new Error("no object");
    const start = performance.now();
    evaluatePolicies({ project: hostile }, { ...call(), args });
    runs.push(performance.now() - start);
  }
  const { p50, max } = spreadOf(runs);
  console.log(`400 times ${when}: p50 / max ${p50.toFixed(1)} / ${max.toFixed(1)} ms`);
}
