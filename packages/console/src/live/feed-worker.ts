/** The stream of a browser in a shared worker: one for all tabs of a session and project. */

import { urlOf } from "../root.ts";
import { Feed } from "./feed.ts";

const ports = new Set<MessagePort>();

const feed = new Feed(urlOf(""), (message) => {
  for (const port of ports) port.postMessage(message);
});

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  ports.add(port);
  // A tab sends a message only when it leaves.
  port.onmessage = () => ports.delete(port);
  port.postMessage(feed.state);
});
