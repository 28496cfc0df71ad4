/**
 * How spans name a call: the attributes of the GenAI semantic conventions where they exist, and
 * otherwise `countersign.*`.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai
 */

import { JsonObject, parseJson } from "@countersign/protocol";
import type { Attributes } from "../tracing.ts";
import type { StoredRequest } from "./request.ts";

/** Longer names and ids are left out: an exporter may reject a large span. */
const CHARS_MAX = 256;

export interface TracedCall {
  readonly projectId: string;
  readonly instanceId: string;
  readonly tool: string;
  readonly server: string | undefined;
  readonly context: JsonObject | undefined;
}

/** Without arguments and reasoning. The context gives two ids, and nothing else. */
export function callAttributes(call: TracedCall): Attributes {
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": shortText(call.tool),
    "gen_ai.tool.call.id": shortText(call.context?.members.get("call_id")),
    "gen_ai.conversation.id": shortText(call.context?.members.get("session_id")),
    "countersign.tool.server": shortText(call.server),
    "countersign.project.id": call.projectId,
    "countersign.instance.id": call.instanceId,
  };
}

/** The same attributes for a stored request, and its id. */
export function requestAttributes(request: StoredRequest): Attributes {
  const { id, projectId, instanceId, context } = request;
  const parsed = context === null ? undefined : parseJson(context);
  return {
    ...callAttributes({
      projectId,
      instanceId,
      tool: JSON.parse(request.tool) as string,
      server: request.server === null ? undefined : (JSON.parse(request.server) as string),
      context: parsed instanceof JsonObject ? parsed : undefined,
    }),
    "countersign.request.id": id,
  };
}

function shortText(value: unknown): string | undefined {
  return typeof value === "string" && value.length <= CHARS_MAX ? value : undefined;
}
