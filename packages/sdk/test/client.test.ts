/**
 * The client with the real provider, over a network that loses, delays and refuses.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { ApprovalClient, type CreateInput, type SdkError } from "@countersign/sdk";
import { startAgentScene } from "@countersign/testing/agent-scene";
import { ID, OTHER_ID, startMisbehavingProvider } from "@countersign/testing/misbehaving-provider";
import { manualTiming } from "./support/manual-timing.ts";

const INPUT: CreateInput = {
  idempotencyKey: "k",
  tool: "deploy",
  arguments: { env: "prod" },
  timeout: "1h",
};

/** A network of which every answer but the last few is lost after it was given. */
function losing(count: number): typeof fetch {
  let left = count;
  return async (input, init) => {
    const response = await fetch(input, init);
    if (left-- <= 0) return response;
    await response.body?.cancel();
    throw new TypeError("fetch failed");
  };
}

/** Answers with these statuses, one after another, and then for ever with the last. */
function answering(...answers: readonly [number, Record<string, string>?][]) {
  const keys: (string | null)[] = [];
  const scripted: typeof fetch = async (_, init) => {
    const [status, headers = {}] = answers[Math.min(keys.length, answers.length - 1)] ?? [500];
    keys.push(new Headers(init?.headers).get("idempotency-key"));
    return new Response("<html>", { status, headers });
  };
  return { scripted, keys };
}

test("[ours.sdk.client.retries] a lost answer is retried with the same key: there is one request", async (t) => {
  const scene = await startAgentScene(t);
  const timing = manualTiming();
  const client = new ApprovalClient({
    url: scene.url,
    apiKey: scene.token,
    fetch: losing(3),
    timing,
  });
  const created = await client.create(INPUT);
  assert.equal(created.status, "pending");
  assert.equal(await scene.countRequests(), 1);
  const cancelling = new ApprovalClient({
    url: scene.url,
    apiKey: scene.token,
    fetch: losing(2),
    timing,
  });
  assert.equal((await cancelling.cancel(created)).status, "cancelled");
  assert.equal((await cancelling.cancel(created.id)).decision?.status, "cancelled");
});

test("[ours.sdk.client.retries] pauses double from 100 ms to 2 s, and are never below Retry-After", async () => {
  const timing = manualTiming();
  const { scripted, keys } = answering([503]);
  const client = new ApprovalClient({
    url: "http://localhost:1",
    apiKey: "t",
    fetch: scripted,
    timing,
    retryFor: "12200ms",
  });
  await assert.rejects(client.create(INPUT), {
    code: "unavailable",
    status: 503,
    idempotencyKey: "k",
  });
  assert.deepEqual(timing.sleeps, [100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000, 2_000]);
  assert.deepEqual(new Set(keys), new Set(["k"]));

  const later = manualTiming(Date.UTC(2026, 0, 1));
  const date = "Thu, 01 Jan 2026 00:00:09 GMT";
  const retries = answering([429, { "retry-after": "4" }], [503, { "retry-after": date }], [500]);
  const slow = { fetch: retries.scripted, timing: later, retryFor: "10s" } as const;
  await assert.rejects(
    new ApprovalClient({ url: "http://localhost:1", apiKey: "t", ...slow }).create(INPUT),
    { status: 500 },
  );
  assert.deepEqual(later.sleeps, [4_000, 5_000]);
});

test("[ours.sdk.client.retries] no last attempt is too short for an answer and hides the cause", async () => {
  const timing = manualTiming();
  const network: typeof fetch = async () => {
    if (timing.monotonic() < 3_000) {
      throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
    }
    timing.pass(1_000);
    return new Promise<never>(() => {});
  };
  const options = { ...ANYWHERE, fetch: network, timing, retryFor: "3200ms" } as const;
  await assert.rejects(new ApprovalClient(options).create(INPUT), /\(ECONNRESET\)/);
});

test("[ours.sdk.client.retries] a Retry-After beyond the time limit stops the retries at once", async () => {
  const timing = manualTiming();
  const { scripted, keys } = answering([429, { "retry-after": "3600" }]);
  const client = new ApprovalClient({
    url: "http://localhost:1",
    apiKey: "t",
    fetch: scripted,
    timing,
  });
  await assert.rejects(client.create(INPUT), { code: "unavailable", retryAfterMs: 3_600_000 });
  assert.equal(keys.length, 1);
});

test("[ours.sdk.client.retries] any other refusal is not retried, and its message contains the fix", async () => {
  for (const status of [400, 401, 403, 404, 409, 410, 422]) {
    const { scripted, keys } = answering([status]);
    const client = new ApprovalClient({ url: "http://localhost:1", apiKey: "t", fetch: scripted });
    const error = await client.create(INPUT).catch((thrown: SdkError) => thrown);
    assert.ok(error instanceof Error && error.code === "refused" && error.status === status);
    assert.match(error.message, /\. [A-Z][^.]+\.$/);
    assert.equal(keys.length, 1);
  }
});

test("[ours.sdk.client.retries] the error contains the provider's code, field and exchange id", async (t) => {
  const scene = await startAgentScene(t);
  const client = new ApprovalClient({ url: scene.url, apiKey: scene.token });
  await client.create(INPUT);
  const conflict = client.create({ ...INPUT, arguments: {} });
  await assert.rejects(conflict, (error: SdkError) => {
    assert.deepEqual([error.status, error.providerCode], [409, "idempotency_conflict"]);
    assert.match(error.exchangeId ?? "", /^[0-9a-f-]{36}$/);
    return true;
  });
  const request = await client.create({ ...INPUT, idempotencyKey: "other" });
  await scene.server.decide(scene.reviewer, request.id, "deny");
  await assert.rejects(client.cancel(request), { providerCode: "already_terminal" });
});

test("[ours.sdk.client.long-poll] a long poll returns with the decision", async (t) => {
  const scene = await startAgentScene(t);
  const client = new ApprovalClient({ url: scene.url, apiKey: scene.token });
  const request = await client.create(INPUT);
  assert.equal((await client.read(request)).status, "pending");
  const longPoll = client.read(request, { wait: "30s" });
  await scene.server.decide(scene.reviewer, request.id, "approve", { note: "fine" });
  const { status, decision } = await longPoll;
  assert.deepEqual([status, decision?.note], ["approved", "fine"]);
  assert.ok((decision?.expiresAt ?? 0) > (decision?.decidedAt ?? 0));
});

test("[ours.sdk.client.abort] an aborted operation ends with the signal's reason, also while it pauses", async (t) => {
  const scene = await startAgentScene(t);
  const client = new ApprovalClient({ url: scene.url, apiKey: scene.token });
  const request = await client.create(INPUT);
  const going = new AbortController();
  const reason = new Error("enough");
  const longPoll = client.read(request, { wait: "30s", signal: going.signal });
  going.abort(reason);
  await assert.rejects(longPoll, reason);
  const { signal } = going;
  await assert.rejects(client.create(INPUT, { signal }), reason);
  await assert.rejects(client.cancel(request, { signal }), reason);
  const pausing = new AbortController();
  const gone: typeof fetch = async () => {
    setImmediate(() => pausing.abort(reason));
    throw new TypeError("fetch failed");
  };
  const unlucky = new ApprovalClient({ url: scene.url, apiKey: scene.token, fetch: gone });
  await assert.rejects(unlucky.create(INPUT, { signal: pausing.signal }), reason);
});

test("[ours.sdk.client.bounded] an unanswered exchange ends, even when fetch ignores signals", async () => {
  const deaf: typeof fetch = () => new Promise(() => {});
  const options = { fetch: deaf, attemptTimeout: "10ms", retryFor: "20ms" } as const;
  const client = new ApprovalClient({ url: "http://localhost:1", apiKey: "t", ...options });
  await assert.rejects(client.create(INPUT), { code: "unavailable", message: /did not answer/ });
});

test("[ours.sdk.client.secret] no error contains the token, even if a provider or runtime echoes it", async (t) => {
  const token = "s3cret-t0ken";
  const echo = (status: number): typeof fetch => {
    return async (_, init) => {
      const message = new Headers(init?.headers).get("authorization");
      const error = { type: "internal", code: "x", message, param: message, request_id: message };
      const body = JSON.stringify({ error, [message ?? ""]: 1 });
      const headers = { "content-type": "application/json", "x-request-id": token };
      return new Response(body, { status, headers });
    };
  };
  const failing: typeof fetch = () => {
    throw Object.assign(new TypeError(token), { code: token, cause: { code: `E ${token}` } });
  };
  const fetches = [echo(400), echo(401), echo(500), echo(200), failing];
  const provider = await startMisbehavingProvider(t, ({ response }) => {
    response.writeHead(302, { location: `http://localhost/${token}` }).end();
    return undefined;
  });
  const clients = [
    new ApprovalClient({ url: provider.url, apiKey: token }),
    ...fetches.map(
      (each) =>
        new ApprovalClient({
          url: "http://localhost:1",
          apiKey: token,
          fetch: each,
          retryFor: "1ms",
        }),
    ),
  ];
  for (const client of clients) {
    const error = await client.create(INPUT).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof Error);
    const shown = inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error);
    assert.doesNotMatch(shown, /s3cret/);
    assert.doesNotMatch(inspect(client, { depth: 9, showHidden: true }), /s3cret/);
  }
  for (const wrong of ["", "s3cret\n", "s3cret s3cret", "s3cr\u00e9t"]) {
    assert.throws(
      () => new ApprovalClient({ url: "http://localhost:1", apiKey: wrong }),
      (error: SdkError) => {
        assert.doesNotMatch(inspect(error), /s3cr/);
        return error.code === "invalid_option";
      },
    );
  }
});

test("[ours.sdk.client.https] a provider on another machine requires https", () => {
  const taken = [
    "https://a.example",
    "http://localhost:8787/",
    "http://127.0.0.1/x",
    "http://[::1]",
  ];
  for (const url of taken)
    assert.equal(new ApprovalClient({ url, apiKey: "t" }).url, url.replace(/\/$/, ""));
  const refused = [
    "http://a.example",
    "http://localhost.a.example",
    "http://127.0.0.1.a.example",
    "ftp://a",
    "https://u:p@a.example",
    "https://a.example?x",
    "https://a.example#",
    "a.example",
    "",
  ];
  for (const url of refused) {
    assert.throws(() => new ApprovalClient({ url, apiKey: "t" }), { code: "invalid_option" }, url);
  }
  for (const url of ["localhost:8787", "a.example"]) {
    assert.throws(
      () => new ApprovalClient({ url, apiKey: "t" }),
      /Expected a URL such as https:/,
      url,
    );
  }
});

test("[ours.sdk.client.secret] a key that a long message is cut within is removed first", async () => {
  const apiKey = "cs_inst_0123456789abcdefghijklmnopqrstuv";
  for (const name of ["message", "param"]) {
    const error = { code: "nope", message: "no", [name]: `${"x".repeat(475)}${apiKey}` };
    const refuse = async () => Response.json({ error }, { status: 403 });
    const client = new ApprovalClient({ url: "http://localhost:1", apiKey, fetch: refuse });
    const refused = await client.create(INPUT).catch((thrown: SdkError) => thrown);
    assert.doesNotMatch(inspect(refused), /0123456789/);
  }
});

const ANYWHERE = { url: "http://localhost:1", apiKey: "t" };

test("[ours.sdk.client.bounded] an invalid limit is rejected, with its name and value", async () => {
  const durations: unknown[] = [Number.NaN, -5, 0, 5000, "0s", "-1s", "1.5s", "5000", "999h", null];
  for (const name of ["retryFor", "attemptTimeout"] as const) {
    for (const value of durations) {
      const shown = String(value).replace(".", "\\.");
      const message = new RegExp(`Invalid ${name}: "?${shown}"?\\. Expected a whole number`);
      const options = { [name]: value } as object;
      const expected = { code: "invalid_option", message };
      assert.throws(() => new ApprovalClient({ ...ANYWHERE, ...options }), expected);
      if (name !== "retryFor") continue;
      const creating = new ApprovalClient(ANYWHERE).create(INPUT, options);
      await assert.rejects(creating, expected);
    }
    assert.ok(new ApprovalClient({ ...ANYWHERE, [name]: "500h" }));
  }
  for (const value of [Number.NaN, -5, 0, Infinity, 2 ** 31, "5000", null]) {
    const options = { maxAnswerBytes: value } as object;
    const message = new RegExp(`Invalid maxAnswerBytes: "?${value}"?\\. Expected a number above 0`);
    const expected = { code: "invalid_option", message };
    assert.throws(() => new ApprovalClient({ ...ANYWHERE, ...options }), expected);
  }
});

/** A network in which nothing listens. */
function refusing(): { readonly fetch: typeof fetch; readonly count: () => number } {
  let count = 0;
  const refuse: typeof fetch = async () => {
    count++;
    const cause = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    throw new TypeError("fetch failed", { cause });
  };
  return { fetch: refuse, count: () => count };
}

test("[ours.sdk.client.retries] a refused first connection fails at once, unless retryFor is set", async () => {
  const timing = manualTiming(0);
  const network = refusing();
  const client = new ApprovalClient({
    url: "http://localhost:1/base",
    apiKey: "t",
    fetch: network.fetch,
    timing,
  });
  const message =
    "The provider at http://localhost:1/base could not be reached (ECONNREFUSED). " +
    "Check the base URL and the network.";
  await assert.rejects(client.create(INPUT), { code: "unavailable", message });
  assert.equal(timing.now(), 0);
  const startedAt = timing.now();
  const reading = client.read("0197f3c5-3e7c-7a7e-8d3b-1d2a3c4b5e6f", { retryFor: "300000ms" });
  await assert.rejects(reading, { code: "unavailable" });
  assert.ok(timing.now() - startedAt > 290_000);
});

test("[ours.sdk.client.retries] a missing permission to connect fails at once and names the flag", async () => {
  const timing = manualTiming(0);
  const forbid: typeof fetch = () => {
    const error = new Error('Requires net access to "127.0.0.1:8787", run again with --allow-net');
    error.name = "NotCapable";
    return Promise.reject(error);
  };
  const options = { url: "http://127.0.0.1:8787/base", apiKey: "t", fetch: forbid, timing };
  await assert.rejects(new ApprovalClient(options).create(INPUT), {
    code: "unavailable",
    message:
      "This program has no permission to connect to 127.0.0.1:8787. " +
      "Start Deno with --allow-net=127.0.0.1:8787.",
  });
  assert.equal(timing.now(), 0);
});

test("[ours.sdk.client.retries] an error of a program's own fetch that is not the network's is thrown at once", async () => {
  const defect = new TypeError("Cannot read properties of undefined (reading 'agent')");
  let count = 0;
  const broken: typeof fetch = async () => {
    count++;
    throw defect;
  };
  const client = new ApprovalClient({ url: "http://localhost:1", apiKey: "t", fetch: broken });
  await assert.rejects(client.create(INPUT), defect);
  assert.equal(count, 1);
});

test("[ours.sdk.client.strict] an answer that breaks the contract names its field, and a failed connection its cause", async (t) => {
  const provider = await startMisbehavingProvider(t, ({ correctAnswer }) => {
    return correctAnswer.replace('"status":"pending"', '"status":"maybe"');
  });
  const client = new ApprovalClient({ url: provider.url, apiKey: "t" });
  await assert.rejects(client.create(INPUT), { code: "invalid_answer", param: "status" });
  const nowhere = new ApprovalClient({ url: "http://127.0.0.1:1", apiKey: "t", retryFor: "1ms" });
  const error = await nowhere.create(INPUT).catch((thrown: SdkError) => thrown);
  assert.ok(error instanceof Error && error.cause instanceof TypeError);
});

test("[ours.sdk.client.retries] a provider that becomes unreachable is retried for 10 s from then on", async () => {
  const timing = manualTiming(0);
  const unavailableUntil = 20_000;
  const network: typeof fetch = async () => {
    if (timing.now() < unavailableUntil) return new Response(null, { status: 503 });
    throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
  };
  const client = new ApprovalClient({ ...ANYWHERE, fetch: network, timing });
  await assert.rejects(client.create(INPUT), /could not be reached \(ECONNRESET\)/);
  const unreachableMs = timing.now() - unavailableUntil;
  assert.ok(unreachableMs > 7_000 && unreachableMs <= 12_000, String(unreachableMs));
});

test("[ours.sdk.gate.validity] an earlier time of the provider counts after a minute, and the time of a proxy never", async () => {
  const timing = manualTiming(0);
  const answers: [number, string][] = [
    [400, "Thu, 01 Jan 2026 00:00:09 GMT"],
    [400, "Thu, 01 Jan 2026 00:00:01 GMT"],
    [502, "Thu, 01 Jan 2026 09:00:00 GMT"],
    [400, "Thu, 01 Jan 2026 00:00:30 GMT"],
  ];
  const clocks: typeof fetch = async () => {
    const [status, date] = answers.shift() ?? [500, ""];
    return new Response(null, { status, headers: { date } });
  };
  const client = new ApprovalClient({ ...ANYWHERE, fetch: clocks, timing, retryFor: "1ms" });
  const timeAfter = async (ms: number) => {
    timing.pass(ms);
    await assert.rejects(client.create(INPUT));
    return new Date(client.providerNow() ?? 0).toISOString().slice(11, 19);
  };
  assert.equal(await timeAfter(0), "00:00:09");
  assert.equal(await timeAfter(1_000), "00:00:10");
  assert.equal(await timeAfter(1_000), "00:00:11");
  assert.equal(await timeAfter(60_000), "00:00:30");
});

test("[ours.sdk.provider-use] a 404 of the consume path that worked before is thrown", async (t) => {
  const paths: string[] = [];
  let isDeleted = false;
  const provider = await startMisbehavingProvider(t, ({ kind, path, correctAnswer, response }) => {
    if (kind !== "consume") return correctAnswer;
    paths.push(path);
    if (!isDeleted) return correctAnswer;
    response.writeHead(404).end();
    return undefined;
  });
  const client = new ApprovalClient({ url: provider.url, apiKey: "t" });
  const { id } = await client.create({ ...INPUT, arguments: { n: 1 } });
  await client.consume(id, { idempotencyKey: "use" });
  isDeleted = true;
  await assert.rejects(client.consume(id, { idempotencyKey: "use" }), { status: 404 });
  assert.equal(paths.length, 2);
});

test("[ours.sdk.provider-use] a provider that answers 405 to the first consume path is asked on the second", async (t) => {
  const paths: string[] = [];
  const provider = await startMisbehavingProvider(t, ({ kind, path, correctAnswer, response }) => {
    if (kind !== "consume") return correctAnswer;
    paths.push(path);
    if (paths.length > 1) return correctAnswer;
    response.writeHead(405).end();
    return undefined;
  });
  const client = new ApprovalClient({ url: provider.url, apiKey: "t" });
  const { id } = await client.create({ ...INPUT, arguments: { n: 1 } });
  await client.consume(id, { idempotencyKey: "use" });
  assert.equal(new Set(paths).size, 2);
});

test("[ours.sdk.visible] an answer about another request does not change the review URL", async (t) => {
  const known = `</requests/${ID}>; rel="alternate"; type="text/html"`;
  const provider = await startMisbehavingProvider(t, ({ kind, correctAnswer, response }) => {
    response.setHeader("link", kind === "create" ? known : known.replace(ID, "forged"));
    return kind === "create" ? correctAnswer : correctAnswer.replace(ID, OTHER_ID);
  });
  const client = new ApprovalClient({ url: provider.url, apiKey: "t" });
  const request = await client.create({ ...INPUT, arguments: { n: 1 } });
  const reviewUrl = client.reviewUrlOf(request.id);
  assert.ok(reviewUrl?.includes(ID), reviewUrl);
  await assert.rejects(client.read(request), { code: "invalid_answer" });
  assert.equal(client.reviewUrlOf(request.id), reviewUrl);
});
