import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { startTcpListener } from "../../test/support/raw-receiver.ts";
import { webhookUrl } from "../../test/support/test-egress.ts";
import { Deadline } from "./deadline.ts";
import { exchange } from "./http-exchange.ts";

const MESSAGE = {
  headers: {},
  body: Buffer.from("{}"),
  timeoutMs: 9_000,
  responseBytesMax: 0,
  freshConnection: true,
};

for (const [stoppedMs, isSent] of [
  [8_999, true],
  [9_000, false],
] as const) {
  test(`[ours.delivery.frozen] a process stopped for ${stoppedMs} ms after a message was made ${isSent ? "sends" : "does not send"} it`, async (t) => {
    const received: Buffer[] = [];
    const listener = await startTcpListener(t, (socket) => {
      socket.on("data", (chunk) => {
        received.push(chunk);
        socket.end("HTTP/1.1 204 No Content\r\n\r\n");
      });
    });
    const socket = connect(listener.port, "127.0.0.1");
    await once(socket, "connect");
    const clock = new ManualClock();
    const deadline = new Deadline(clock, MESSAGE.timeoutMs);
    const { reply, over } = exchange(webhookUrl("https://receiver.example/"), MESSAGE, {
      // A plain TCP socket is enough: this test checks no TLS properties.
      socket: socket as TLSSocket,
      isReused: false,
      userAgent: "test",
      clock,
      deadline,
    });
    // Everything is prepared, and nothing is written yet.
    clock.stop(stoppedMs);
    const answer = await reply;
    await over;
    await once(listener.sockets[0] ?? assert.fail(), "close");
    assert.equal(received.length, isSent ? 1 : 0);
    assert.equal(answer.kind, isSent ? "answered" : "unreachable");
  });
}
