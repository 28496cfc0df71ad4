/**
 * Converts the history's filters between the address and the API. Pure except for the reader's time
 * zone.
 */

import { dayStart } from "../../parts/query.ts";

/** Names in the address. */
export const FILTERS = ["tool", "server", "instance", "by", "rule", "status", "from", "to"];

/** A link can start within a day. */
const MOMENT = /^\d{4}-\d\d-\d\dT[0-9:.]+Z$/;

/** The API query, without cursor and limit. */
export function toServerQuery(query: URLSearchParams): URLSearchParams {
  const serverQuery = new URLSearchParams();
  const set = (name: string, value: string | null | undefined) => {
    if (value) serverQuery.set(name, value);
  };
  const tool = query.get("tool") ?? "";
  if (tool.endsWith("*")) set("tool_prefix", tool.slice(0, -1));
  else set("tool", tool);
  set("server", query.get("server"));
  set("instance_id", query.get("instance"));
  const by = query.get("by");
  const rule = query.get("rule");
  set("decided_by", by === "policy" && rule ? `policy:${rule}` : by);
  set("status", query.get("status"));
  const from = query.get("from") ?? "";
  set("since", MOMENT.test(from) ? from : dayStart(from));
  set("until", dayStart(query.get("to") ?? "", 1));
  return serverQuery;
}
