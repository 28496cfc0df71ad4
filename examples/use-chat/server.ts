/**
 * A chat of the Vercel AI SDK whose refunds need an approval: the routes of the server. `page.tsx`
 * is the page with `useChat`.
 *
 *   npm start
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { Countersign } from "@countersign/sdk";
import { approvalResponses, gateTools, toolApproval } from "@countersign/sdk/ai";
import {
  convertToModelMessages,
  pipeUIMessageStreamToResponse,
  stepCountIs,
  streamText,
  tool,
  toUIMessageStream,
  type UIMessage,
} from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { build } from "vite";
import { z } from "zod";

const refund = tool({
  description: "Gives money back",
  inputSchema: z.object({ order: z.string(), cents: z.number() }),
  execute: async ({ order, cents }) => `${cents} back for ${order}`,
});

const approvals = new Countersign({ wait: false }); // COUNTERSIGN_URL, COUNTERSIGN_API_KEY

// With a real model: `const model = openai("gpt-5")`, of @ai-sdk/openai. This one needs no key.
const model = scriptedModel();

/** The body that `useChat` sends. */
interface ChatBody {
  readonly id: string;
  readonly messages: UIMessage[];
}

/** With several users, the id of a run must also contain the id of the user. */
function toolsOf(chat: ChatBody) {
  return gateTools({ refund }, { approvals, runId: chat.id });
}

/** Runs a turn. A call without a decision ends it, and the page continues it later. */
async function chat(body: ChatBody, response: ServerResponse): Promise<void> {
  const tools = toolsOf(body);
  const result = streamText({
    model,
    messages: await convertToModelMessages(body.messages, { tools }),
    tools,
    toolApproval,
    stopWhen: stepCountIs(5),
  });
  const stream = toUIMessageStream({
    stream: result.stream,
    tools,
    originalMessages: body.messages,
  });
  await pipeUIMessageStreamToResponse({ response, stream });
}

/** Returns the decisions about the calls that wait. The page polls it. */
async function readApprovals(body: ChatBody, response: ServerResponse): Promise<void> {
  const tools = toolsOf(body);
  const messages = await convertToModelMessages(body.messages, { tools });
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(await approvalResponses(messages, tools)));
}

const script = await bundlePage();
const page =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Refunds</title>' +
  '<main id="chat"></main><script type="module" src="/page.js"></script></html>';

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = `${request.method} ${request.url}`;
  if (route === "POST /api/chat") return chat((await json(request)) as ChatBody, response);
  if (route === "POST /api/approvals") {
    return readApprovals((await json(request)) as ChatBody, response);
  }
  if (route === "GET /") {
    response.setHeader("content-type", "text/html");
    response.end(page);
  } else if (route === "GET /page.js") {
    response.setHeader("content-type", "text/javascript");
    response.end(script);
  } else {
    response.writeHead(404).end();
  }
}

const server = createServer((request, response) => {
  respond(request, response).catch((error: unknown) => {
    console.error(error);
    if (!response.headersSent) response.writeHead(500);
    response.end();
  });
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`Open http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

async function bundlePage(): Promise<string> {
  const bundle = await build({
    configFile: false,
    logLevel: "error",
    root: import.meta.dirname,
    build: { write: false, rolldownOptions: { input: join(import.meta.dirname, "page.tsx") } },
  });
  const { output } = (Array.isArray(bundle) ? bundle[0] : bundle) as {
    readonly output: readonly { readonly code?: string }[];
  };
  return output[0]?.code ?? "";
}

/** Proposes a refund, then repeats the result or the reason. */
function scriptedModel(): MockLanguageModelV4 {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  return new MockLanguageModelV4({
    doStream: async ({ prompt }) => {
      const last = prompt.at(-1);
      const [part] = last?.role === "tool" ? last.content : [];
      const output = part?.type === "tool-result" ? part.output : undefined;
      if (output === undefined) {
        const input = JSON.stringify({ order: "A-1", cents: 500 });
        const toolCallId = crypto.randomUUID();
        const finishReason = { unified: "tool-calls", raw: undefined } as const;
        return {
          stream: convertArrayToReadableStream([
            { type: "stream-start", warnings: [] },
            { type: "tool-call", toolCallId, toolName: "refund", input },
            { type: "finish", finishReason, usage },
          ]),
        };
      }
      const delta = String("value" in output ? output.value : Object(output).reason);
      return {
        stream: convertArrayToReadableStream([
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta },
          { type: "text-end", id: "1" },
          { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
        ]),
      };
    },
  });
}
