import { deleteInstance, readProfile, uninstall } from "@countersign/adapters";
import { agentOf, PLACE, placeOf, readSecret, refusing } from "../adapter-options.ts";
import type { Command } from "../command.ts";
import { EXIT, usageError } from "../exit.ts";
import { visibleText } from "../visible-text.ts";

export const uninstallCommand: Command = {
  usage: "uninstall AGENT",
  help: "Give an agent its settings back as they were, and forget the credential.",
  settings: [],
  options: {
    "delete-instance": { type: "flag", help: "Also at the provider; stdin is a provisioner's." },
    ...PLACE,
  },

  async run(line, terminal) {
    const [name = ""] = line.take("the agent");
    const agent = agentOf(name);
    const { settings, profile } = placeOf(agent, line);
    const known = refusing(() => readProfile(profile));
    if (line.flag("delete-instance")) {
      if (known?.instanceId === undefined) throw usageError("install has made no instance");
      const token = await readSecret(terminal, "the token of a provisioner");
      await deleteInstance(known.url, token, known.instanceId);
    }
    const done = refusing(() => uninstall(agent, profile, settings));
    if (line.json) {
      terminal.out(JSON.stringify({ agent: name, ...done }));
      return EXIT.done;
    }
    terminal.out(`${agent.title} asks nobody any more; see ${done.settings}.`);
    if (known !== undefined && !line.flag("delete-instance")) {
      const which = known.instanceId === undefined ? "" : ` of instance ${known.instanceId}`;
      terminal.note(`The credential${which} is still good at ${visibleText(known.url)}.`);
    }
    return EXIT.done;
  },
};
