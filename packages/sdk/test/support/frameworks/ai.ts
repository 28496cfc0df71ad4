/**
 * The Vercel AI SDK, for the shared rules of the frameworks.
 */

import { gateTools, isNotRun, resumeMessages, toolApproval } from "@countersign/sdk/ai";
import { generateText, type ModelMessage, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import {
  type Framework,
  lookOf,
  type Mode,
  type Outcome,
  type SuspendedRun,
  settingsOf,
  type Turn,
} from "../framework-description.ts";
import { scriptedModel, toolResultsOf } from "../scripted-ai-model.ts";

export const INPUT = z.object({ to: z.string().trim(), cents: z.number() });

export function toolsOf(turn: Turn) {
  const inputSchema = INPUT;
  const look = lookOf(turn);
  const tools = {
    pay: tool({ inputSchema, execute: async (input) => turn.pay(input) }),
    look: tool({ inputSchema, execute: async (input) => look(input) }),
  };
  return gateTools(tools, settingsOf(turn));
}

const PROMPT: readonly ModelMessage[] = [{ role: "user", content: "pay" }];

interface Start {
  readonly turn: Turn;
  readonly mode: Mode;
  readonly suspends: boolean;
  readonly messages: readonly ModelMessage[];
}

async function start({ turn, mode, suspends, messages }: Start): Promise<Outcome> {
  const model = scriptedModel(turn.calls);
  const streamed: Record<string, string> = {};
  const options = {
    model,
    messages: [...messages],
    tools: toolsOf(turn),
    stopWhen: stepCountIs(3),
    ...(suspends && { toolApproval }),
    ...(turn.signal && { abortSignal: turn.signal }),
  };
  let added: readonly ModelMessage[];
  if (mode === "stream") {
    const result = streamText(options);
    for await (const part of result.fullStream) {
      if (part.type === "error") throw part.error;
      if (part.type === "tool-result") {
        const { output } = part;
        streamed[part.toolCallId] = isNotRun(output) ? output.message : String(output);
      }
    }
    added = await result.responseMessages;
  } else {
    added = (await generateText(options)).responseMessages;
  }
  const results = toolResultsOf(model);
  const callIds = waitingIn(added).filter((id) => !(id in results));
  if (callIds.length === 0) return { results, streamed };
  const state = JSON.stringify([...messages, ...added]);
  return { results, streamed, suspended: { state, callIds } };
}

/** The calls that wait for an approval of the application, not the automatic ones. */
function waitingIn(messages: readonly ModelMessage[]): string[] {
  return messages.flatMap(({ role, content }) => {
    if (role !== "assistant" || typeof content === "string") return [];
    return content.flatMap((part) => {
      return part.type === "tool-approval-request" && !part.isAutomatic ? [part.toolCallId] : [];
    });
  });
}

export const framework: Framework = {
  name: "ai",
  run: (turn, mode) => start({ turn, mode, suspends: false, messages: PROMPT }),
  suspension: {
    run: (turn, mode) => start({ turn, mode, suspends: true, messages: PROMPT }),
    partialResume: { unsupported: "The calls of a turn resume together." },
    async resume(turn: Turn, { state }: SuspendedRun, mode: Mode) {
      const stored = JSON.parse(state) as ModelMessage[];
      const messages = resumeMessages(stored, toolsOf(turn));
      return start({ turn, mode, suspends: true, messages });
    },
  },
};
