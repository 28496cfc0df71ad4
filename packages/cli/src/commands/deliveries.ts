/** The commands that list, show and retry deliveries of notifications. */

import { EXIT, usageError } from "@countersign/command-line";
import { parseIdentifier } from "@countersign/protocol";
import { type Delivery, exactText } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { renderDeliveries, renderDelivery } from "../render-deliveries.ts";
import { collect } from "../reviewer-api.ts";
import { printRows, ROW_LIMIT } from "../row-list.ts";

export const deliveriesList: Command = {
  usage: "deliveries list",
  help: "List pending deliveries, earliest next attempt first.",
  example: "deliveries list --ended",
  settings: ["client"],
  options: {
    ended: { type: "flag", help: "List ended deliveries instead, latest first." },
    limit: ROW_LIMIT.option,
  },

  async run(line, terminal) {
    line.take();
    const state = line.flag("ended") ? "ended" : "waiting";
    const limit = ROW_LIMIT.read(line);
    const api = connectApi(line);
    const { items: deliveries, hasMore } = await collect(
      limit,
      (limit, after) => api.call("GET /deliveries", { query: { state, limit, after } }),
      (page) => page.deliveries,
    );
    printRows(line, terminal, {
      json: deliveries.map(exactText),
      empty: state === "ended" ? "No delivery has ended." : "No delivery is pending.",
      renderTable: () => renderDeliveries(deliveries, api.now, terminal.columns),
      limit,
      hasMore,
    });
    return EXIT.done;
  },
};

export const deliveriesShow: Command = {
  usage: "deliveries show ID",
  help: "Show a delivery by its id or its request's id.",
  example: "deliveries show 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [id = ""] = line.take("the id of the delivery");
    const api = connectApi(line);
    const delivery = await api.call("GET /deliveries/{id}", { path: { id } });
    terminal.out(line.json ? exactText(delivery) : renderDelivery(delivery, api.now));
    return EXIT.done;
  },
};

export const deliveriesRetryNow: Command = {
  usage: "deliveries retry-now [ID]",
  help: "Retry a pending delivery, or all of an instance.",
  example: "deliveries retry-now 0198c2a4-7d0e-7c3b-9f51-2b6a4e8d1c70",
  settings: ["client"],
  options: {
    instance: { type: "text", value: "ID", help: "Retry the pending deliveries of this instance." },
  },

  async run(line, terminal) {
    const api = connectApi(line);
    const instance = line.text("instance");
    if (instance === undefined) {
      const [id = ""] = line.take("the id of the delivery, or --instance ID,");
      const delivery = await api.call("POST /deliveries/{id}/retry", { path: { id } });
      terminal.out(line.json ? exactText(delivery) : retryInWords(delivery));
      return EXIT.done;
    }
    if (line.positionals.length > 0) {
      throw usageError("give either the id of a delivery or --instance ID");
    }
    if (parseIdentifier(instance) === undefined) {
      throw usageError("--instance must be the id of an instance; see deliveries show ID");
    }
    const body = { instance_id: instance };
    const answer = await api.call("POST /deliveries/retry", { body });
    const { hurried } = answer;
    if (line.json) terminal.out(exactText(answer));
    else if (hurried === 0) terminal.out("No delivery of this instance is scheduled for later.");
    else terminal.out(`Due now: ${hurried} ${hurried === 1 ? "delivery" : "deliveries"}.`);
    return EXIT.done;
  },
};

/** The attempt itself starts after the answer. */
function retryInWords({ id, status }: Delivery): string {
  return status === "in_flight" ? `An attempt of ${id} is in progress.` : `${id} is due now.`;
}
