import assert from "node:assert/strict";
import test from "node:test";
import { ReviewClient } from "./client.ts";

class Client extends ReviewClient {
  protected override interrupted(cause: unknown): Error {
    return new Error("interrupted", { cause });
  }
}

test("an answer that breaks off throws the error for a broken connection", async () => {
  const broken = new ReadableStream({ start: (body) => body.error(new Error("reset")) });
  const api = new Client(async () => new Response(broken));
  await assert.rejects(api.call("GET /groups"), /^Error: interrupted$/);
});
