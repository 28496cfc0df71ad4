import { releaseProposal } from "@countersign/server";
import type { Command } from "../command.ts";
import { FLOOR } from "../policy-file.ts";
import { withKnownData } from "../with-data.ts";

export const policyRelease: Command = {
  usage: "policy release ID",
  help: "Publish a proposal without another person, where nobody else is left who could.",
  settings: ["server"],
  options: {
    ...FLOOR,
    project: { type: "text", value: "PROJECT", help: "Whose policy it is. [default]" },
  },

  async run(line, terminal) {
    const [proposalId = ""] = line.take("the id of the proposal");
    const scope = line.flag("floor") ? "floor" : "project";
    const project = line.text("project") ?? "default";
    return withKnownData(line, async ({ context }) => {
      const { version } = await releaseProposal(context, { scope, project, proposalId });
      const { number, sha256 } = version;
      const text = `Version ${number} is in force (sha256 ${sha256}). The audit log says by whom.`;
      terminal.out(line.json ? JSON.stringify({ scope, number, sha256 }) : text);
    });
  },
};
