/** How an agent comes to ask here: for an inbox in which nothing has been yet. */

import { urlOf } from "../../root.ts";

const STEPS = [
  {
    title: "Make a token that may add agents",
    command: "npx countersign tokens create provisioner --name me",
  },
  {
    title: "Add an agent; the answer has its credential",
    command: (url: string) =>
      `curl -X POST ${url}v1/instances -H "Authorization: Bearer $PROVISIONER" ` +
      `-H "Idempotency-Key: first" -H "Content-Type: application/json" -d '{}'`,
  },
  {
    title: "Let it ask",
    command: (url: string) =>
      `curl -X POST ${url}v1/requests -H "Authorization: Bearer $CREDENTIAL" ` +
      `-H "Idempotency-Key: call-1" -H "Content-Type: application/json" ` +
      `-d '{"tool":"deploy","arguments":{"env":"prod"},"timeout":"10m"}'`,
  },
];

export function ConnectAgent() {
  const url = urlOf("");
  return (
    <details class="connect">
      <summary>Connect an agent</summary>
      <ol>
        {STEPS.map(({ title, command }) => (
          <li key={title}>
            <p>{title}</p>
            <pre>
              <code>{typeof command === "string" ? command : command(url)}</code>
            </pre>
          </li>
        ))}
      </ol>
    </details>
  );
}
