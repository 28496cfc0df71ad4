/**
 * An agent of LangChain that refunds money after an approval.
 *
 *   npm start
 *
 * A second start continues the same run, in which the tool runs once. For a new run:
 *
 *   npm start -- langchain-2
 */

import { Countersign } from "@countersign/sdk";
import { countersignMiddleware } from "@countersign/sdk/langchain";
import { AIMessage } from "@langchain/core/messages";
import { type FakeBuiltModel, fakeModel } from "@langchain/core/testing";
import { createAgent, tool } from "langchain";
import { z } from "zod";

const refund = tool(async ({ order, cents }) => `${cents} back for ${order}`, {
  name: "refund",
  description: "Gives money back",
  schema: z.object({ order: z.string(), cents: z.number() }),
});

const [runId = "langchain-1"] = process.argv.slice(2);
const approvals = new Countersign(); // COUNTERSIGN_URL, COUNTERSIGN_API_KEY
const middleware = [countersignMiddleware({ approvals, runId })];

// With a real model: `const model = "openai:gpt-5"`, with @langchain/openai. This one needs no key.
const model = scriptedModel();
const agent = createAgent({ model, tools: [refund], middleware });
const { messages } = await agent.invoke({ messages: [{ role: "user", content: "500 for A-1." }] });
console.log(`Run ${runId}: ${messages.at(-1)?.text}`);

/** Calls the tool, then repeats its result. */
function scriptedModel(): FakeBuiltModel {
  const call = { id: "call_1", name: "refund", args: { order: "A-1", cents: 500 } };
  return fakeModel()
    .respondWithTools([call])
    .respond((toolResult) => new AIMessage(toolResult.at(-1)?.text ?? ""));
}
