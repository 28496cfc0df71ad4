/**
 * `countersignMiddleware` of LangChain, for the shared rules of the frameworks.
 */

import { countersignMiddleware } from "@countersign/sdk/langchain";
import { settingsOf } from "../framework-description.ts";
import { frameworkOf, toolsOf } from "./langchain.ts";

export const framework = frameworkOf("langchain-middleware", (turn) => {
  return { tools: toolsOf(turn), middleware: [countersignMiddleware(settingsOf(turn))] };
});
