/** The command that removes the hook from the settings of a coding agent. */

import { type Command, EXIT, usageError } from "@countersign/command-line";
import { visibleText } from "@countersign/protocol";
import { uninstall } from "../install/install.ts";
import { deleteInstance } from "../install/instance.ts";
import { readProfile } from "../profile/profile.ts";
import { AGENT_NAMES, agentOf, changeFiles, PLACE, placeOf, readSecret } from "./options.ts";

export const uninstallCommand: Command = {
  usage: "uninstall AGENT",
  help: "Remove the hook and delete the profile.",
  example: "uninstall claude-code",
  options: {
    "delete-instance": {
      type: "flag",
      help: "Delete the instance. Reads a provisioner token from stdin.",
    },
    ...PLACE,
  },

  async run(line, terminal, program) {
    const [name = ""] = line.take(`the agent (${AGENT_NAMES})`);
    const agent = agentOf(name);
    const { settings, profile } = placeOf(agent, line, program);
    const known = changeFiles(() => readProfile(profile));
    if (line.flag("delete-instance")) {
      if (known?.instanceId === undefined)
        throw usageError("install did not create an instance; omit --delete-instance");
      const token = await readSecret(terminal, "the provisioner token");
      await deleteInstance(known.url, token, known.instanceId);
    }
    const done = changeFiles(() => uninstall(agent, profile, settings));
    if (line.json) {
      terminal.out(JSON.stringify({ agent: name, ...done }));
      return EXIT.done;
    }
    terminal.out(`Hook removed from ${done.settings}. ${agent.title} no longer requests approval.`);
    if (done.leftTrust !== undefined) {
      const file = visibleText(done.leftTrust);
      terminal.note(`The table of the hook in ${file} has changed. Remove it from [hooks.state].`);
    }
    if (known !== undefined && !line.flag("delete-instance")) {
      const which = known.instanceId === undefined ? "" : ` of instance ${known.instanceId}`;
      terminal.note(`The credential${which} is still valid at ${visibleText(known.url)}.`);
    }
    return EXIT.done;
  },
};
