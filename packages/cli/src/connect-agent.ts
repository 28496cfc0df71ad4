/** Text that connects an agent: its environment variables, and a first program or command. */

import type { CreatedAgent } from "./agent-directory.ts";
import { ownCommand } from "./own-command.ts";

/** Commands of a shell. Files for `node --env-file` can contain them too. */
export function exportLines({ url, key }: Pick<CreatedAgent, "url" | "key">): string {
  return `export COUNTERSIGN_URL=${url}\nexport COUNTERSIGN_API_KEY=${key}`;
}

/** The snippets contain no key: they read it from the environment. */
export function snippets(url: string): string {
  const command = ownCommand(process.env);
  return `curl:
  curl -sS "$COUNTERSIGN_URL/v1/requests" -H "Authorization: Bearer $COUNTERSIGN_API_KEY" \\
    -H "Idempotency-Key: $(date +%s)" -H "Content-Type: application/json" \\
    -d '{"tool":"deploy","arguments":{"env":"prod"},"timeout":"10m"}'

Claude Code (or codex):
  ${command} install claude-code --url ${url}

MCP servers:
  ${command} mcp-gateway -- npx my-mcp-server

TypeScript (with the package @countersign/sdk):
  import { Countersign } from "@countersign/sdk";
  const approvals = new Countersign();
  const deploy = approvals.tool("deploy", ({ env }: { env: string }) => \`deployed to \${env}\`);
  const result = await deploy({ env: "prod" });
  console.log(result.status === "executed" ? result.value : result.messageForModel);

Python (pip install agentapprovalprotocol; the server needs --extensions consume,outcome,server):
  import os
  from agentapprovalprotocol import Call, Client, Gate
  gate = Gate(Client(os.environ["COUNTERSIGN_URL"], os.environ["COUNTERSIGN_API_KEY"]))
  with gate.guard(Call(key="call-1", tool="deploy", arguments={"env": "prod"})) as verdict:
      print("deployed to prod" if verdict else verdict.reason)`;
}
