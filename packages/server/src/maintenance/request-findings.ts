/** Findings about the row of a request. */

import { timeOfId } from "@countersign/protocol";
import type { Finding } from "../audit/finding.ts";

export function alteredRequest(projectId: string, id: string, message: string): Finding {
  return { ...placeOf(projectId, id), fault: "altered", message: `request ${id}: ${message}` };
}

export function missingRequest(projectId: string, id: string, message: string): Finding {
  return { ...placeOf(projectId, id), fault: "missing", message: `request ${id}: ${message}` };
}

function placeOf(projectId: string, id: string): Pick<Finding, "projectId" | "kind" | "id" | "at"> {
  return { projectId, kind: "request", id, at: timeOfId(id) ?? 0 };
}
