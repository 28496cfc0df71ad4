/** The command that compares a directory with the project. */

import { EXIT } from "@countersign/command-line";
import { PLAN_OPTIONS, preparePlan } from "../apply/prepare-plan.ts";
import { planToJson, renderPlan } from "../apply/render-plan.ts";
import type { Command } from "../command.ts";

export const plan: Command = {
  usage: "plan",
  help: "Compare files with the project; exit 4 if they differ.",
  example: "plan -f countersign/",
  settings: ["client"],
  options: PLAN_OPTIONS,

  async run(line, terminal) {
    const { actual, plan, prunes } = await preparePlan(line, terminal, process.env);
    const { name } = actual.project;
    const json = () => JSON.stringify(planToJson(name, plan, prunes));
    terminal.out(line.json ? json() : renderPlan(plan, prunes));
    const differs = plan.steps.length > 0 || (prunes && plan.surplus.length > 0);
    return differs ? EXIT.differs : EXIT.done;
  },
};
