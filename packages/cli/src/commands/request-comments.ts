/** The commands for comments on requests. The agent does not receive comments. */

import { randomUUID } from "node:crypto";
import { EXIT, usageError } from "@countersign/command-line";
import { exactText } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { visibleText } from "../visible-text.ts";

export const requestsComments: Command = {
  usage: "requests comments ID",
  help: "List the comments on a request.",
  example: "requests comments 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const answer = await connectApi(line).call("GET /requests/{id}/comments", { path: { id } });
    if (line.json) {
      terminal.out(exactText(answer));
      return EXIT.done;
    }
    if (answer.comments.length === 0) terminal.out("There are no comments.");
    for (const { reviewer, at, text } of answer.comments) {
      const lines = text.split("\n").map((one) => `  ${visibleText(one)}`);
      terminal.out([`${visibleText(reviewer)}, ${at}`, ...lines].join("\n"));
    }
    return EXIT.done;
  },
};

export const requestsComment: Command = {
  usage: "requests comment ID",
  help: "Comment on a request, for other reviewers.",
  example: 'requests comment 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70 --text "Wait."',
  settings: ["client"],
  options: {
    text: { type: "text", value: "TEXT", help: "Comment; the agent does not receive it." },
    "idempotency-key": {
      type: "text",
      value: "KEY",
      help: "Repeated commands with the same key add one comment.",
    },
  },

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the request");
    const text = line.text("text");
    if (text === undefined) throw usageError("--text is required");
    const idempotencyKey = line.text("idempotency-key") ?? randomUUID();
    const call = { path: { id }, body: { text }, idempotencyKey };
    const answer = await connectApi(line).call("POST /requests/{id}/comments", call);
    terminal.out(line.json ? exactText(answer) : "Added.");
    return EXIT.done;
  },
};
