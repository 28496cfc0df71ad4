/** The commands that list and unlink the chat accounts of reviewers. */

import { EXIT, renderColumns } from "@countersign/command-line";
import { exactText } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { visibleText } from "../visible-text.ts";

export const chatLinksList: Command = {
  usage: "chat-links list",
  help: "List chat accounts that decide as a reviewer.",
  example: "chat-links list",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    line.take();
    const { links } = await connectApi(line).call("GET /chat-links");
    if (line.json) terminal.out(`[${links.map(exactText).join(",")}]`);
    else if (links.length === 0) terminal.out("There are no linked chat accounts.");
    else {
      const rows = links.map(({ id, platform, user_id, user_name, reviewer }) => {
        return [id, platform, user_id, visibleText(user_name), visibleText(reviewer.name)];
      });
      terminal.out(renderColumns([["ID", "CHAT", "USER", "NAME", "REVIEWER"], ...rows]));
    }
    return EXIT.done;
  },
};

export const chatLinksDelete: Command = {
  usage: "chat-links delete ID",
  help: "Unlink a chat account from its reviewer.",
  example: "chat-links delete 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the link");
    const deleted = await connectApi(line).call("DELETE /chat-links/{id}", { path: { id } });
    terminal.out(line.json ? exactText(deleted) : `Unlinked ${id}.`);
    return EXIT.done;
  },
};
