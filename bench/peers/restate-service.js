/**
 * A wait for a reviewer, written for Restate in the two ways that its documentation shows. A
 * child process of the benchmark; the Restate server calls it.
 *
 * - `call/approve` waits for an awakeable, whose id it returns to callers of the side port,
 *   as it would be sent to a person;
 * - `approval/run` is a workflow that waits for its promise `verdict`, which the handler of that
 *   name resolves.
 */

import { createServer } from "node:http";
import { serve, service, workflow } from "@restatedev/restate-sdk";

/** Published ids that were not fetched, and callers that wait for one. */
const publishedIds = new Map();
const asking = new Map();

function publishId(key, id) {
  const answer = asking.get(key);
  asking.delete(key);
  if (answer === undefined) publishedIds.set(key, id);
  else answer(id);
}

const call = service({
  name: "call",
  handlers: {
    approve: async (ctx, { key }) => {
      const { id, promise } = ctx.awakeable();
      await ctx.run("publish", () => publishId(key, id));
      return promise;
    },
  },
});

const approval = workflow({
  name: "approval",
  handlers: {
    run: (ctx) => ctx.promise("verdict"),
    verdict: (ctx, verdict) => ctx.promise("verdict").resolve(verdict),
  },
});

const side = createServer((request, response) => {
  const key = request.url.slice(1);
  const answer = (id) => {
    response.writeHead(200, { "content-length": Buffer.byteLength(id) });
    response.end(id);
  };
  const id = publishedIds.get(key);
  publishedIds.delete(key);
  if (id === undefined) asking.set(key, answer);
  else answer(id);
});

const port = await serve({ services: [call, approval], port: 0 });
side.listen(0, "127.0.0.1", () => process.send({ port, sidePort: side.address().port }));
process.once("disconnect", () => process.exit());
