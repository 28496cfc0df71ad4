/** The stream of a browser in a shared worker: one for all tabs of a session and project. */

import { urlOf } from "../root.ts";
import { Feed, projectOfFeed } from "./feed.ts";

/** As the tab names it. */
const { name } = globalThis as unknown as { readonly name: string };
const ports = new Set<MessagePort>();

const feed = new Feed(urlOf(""), projectOfFeed(name), (message) => {
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
