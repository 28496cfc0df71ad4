/** The command that publishes a proposal without a second person. */

import { releaseProposal } from "@countersign/server";
import type { Command } from "../command.ts";
import { FLOOR } from "../policy-file.ts";
import { withKnownData } from "../with-data.ts";

export const policyRelease: Command = {
  usage: "policy release ID",
  help: "Publish a proposal without a second person.",
  example: "policy release 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["server"],
  options: {
    ...FLOOR,
    project: { type: "text", value: "PROJECT", help: "Project of the policy. [default]" },
  },

  async run(line, terminal) {
    const [proposalId = ""] = line.take("the id of the proposal");
    const scope = line.flag("floor") ? "floor" : "project";
    const project = line.text("project") ?? "default";
    return withKnownData(line, async ({ context }) => {
      const { version } = await releaseProposal(context, { scope, project, proposalId });
      const { number, sha256 } = version;
      const active = `Version ${number} is active (sha256 ${sha256}).`;
      const text = `${active} The audit log records who published it.`;
      terminal.out(line.json ? JSON.stringify({ scope, number, sha256 }) : text);
    });
  },
};
