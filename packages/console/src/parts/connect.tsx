/**
 * Commands to copy that connect an agent to its instance. The caller owns the credential: this
 * module does not store it.
 */

import { urlOf } from "../root.ts";
import { Snippet } from "./snippet.tsx";

export function ConnectSnippets({ credential }: { readonly credential: string }) {
  const url = urlOf("").replace(/\/$/, "");
  return (
    <div class="stack">
      <Snippet title="Claude Code: ask before every call" text={hookText(url)} />
      <Snippet title="TypeScript: protect one tool" text={sdkText(url, credential)} />
      <Snippet title="Try it with curl" text={curlText(url)} />
      <Snippet title="Value for the prompts" text={credential} />
    </div>
  );
}

/** The command prompts for the credential, which stays out of the history of the shell. */
function hookText(url: string): string {
  return `countersign install claude-code --url ${url}`;
}

/** One shell command, so that `read` takes no pasted line. curl reads the header from stdin. */
function curlText(url: string): string {
  return `printf 'Credential: ' && read -rs TOKEN && printf 'Authorization: Bearer %s\\n' "$TOKEN" |
  curl -sS ${url}/v1/requests \\
  -H @- \\
  -H "Idempotency-Key: $(date +%s)" \\
  -H 'Content-Type: application/json' \\
  -d '{"tool":"deploy","arguments":{"env":"prod"},"timeout":"10m"}'`;
}

function sdkText(url: string, credential: string): string {
  return `import { Countersign } from "@countersign/sdk";

// COUNTERSIGN_URL=${url}
// COUNTERSIGN_API_KEY=${credential}
const approvals = new Countersign(); // reads both variables

const deploy = approvals.tool("deploy", ({ env }: { env: string }) => \`deployed to \${env}\`);
const result = await deploy({ env: "prod" });
console.log(result.status === "executed" ? result.value : result.messageForModel);`;
}
