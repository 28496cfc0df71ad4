/** The stream of a browser in a shared worker: one for all tabs of a session and project. */

import { urlOf } from "../root.ts";
import { startFeed } from "./feed.ts";

const ports = new Set<MessagePort>();

const feed = startFeed(urlOf(""), (message) => {
  for (const port of ports) port.postMessage({ message, heardAt: Date.now() });
});

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  ports.add(port);
  port.onmessage = () => ports.delete(port);
  port.postMessage({ message: feed.state(), heardAt: Date.now() });
});
