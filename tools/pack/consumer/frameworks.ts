/**
 * The subpaths for frameworks, beside the frameworks themselves.
 *
 * Prints how many could be loaded.
 */

import { gateTools as gateAi } from "@countersign/sdk/ai";
import { gateTools as gateClaude } from "@countersign/sdk/claude-agent-sdk";
import { gateTools as gateLangchain } from "@countersign/sdk/langchain";
import { gateTools as gateMastra } from "@countersign/sdk/mastra";
import { gateServer } from "@countersign/sdk/mcp";
import { gatedTool } from "@countersign/sdk/openai-agents";

/** Packages without types would let these pass. */
export const wrong = [
  // @ts-expect-error: not tools
  () => gateAi(1),
  // @ts-expect-error: not tools
  () => gateClaude(1),
  // @ts-expect-error: not tools
  () => gateLangchain(1),
  // @ts-expect-error: not tools
  () => gateMastra(1),
  // @ts-expect-error: not a server
  () => gateServer(1),
  // @ts-expect-error: not a tool
  () => gatedTool(1),
];

const loaded = [gateAi, gateClaude, gateLangchain, gateMastra, gateServer, gatedTool];
console.log(loaded.filter((each) => typeof each === "function").length);
