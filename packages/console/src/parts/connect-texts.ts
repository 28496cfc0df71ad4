/**
 * The commands that connect each kind of agent. No text contains the credential: commands prompt
 * for it, so that it stays out of files and out of the history of the shell.
 */
import { t } from "../language/t.ts";

export interface ConnectText {
  readonly title: string;
  readonly text: string;
}

export interface Connection {
  readonly value: string;
  /** In the list of agents. */
  readonly title: string;
  /** The requirements of the commands. */
  readonly hint: string;
  /** @param url of the server, without a slash at its end */
  texts(url: string): readonly ConnectText[];
}

/** The names and titles in the package `agents`, which a browser cannot load. */
export const CODING_AGENTS = [
  ["claude-code", "Claude Code"],
  ["cline", "Cline"],
  ["codex", "Codex"],
  ["copilot", "GitHub Copilot"],
  ["cursor", "Cursor"],
  ["gemini-cli", "Gemini CLI"],
  ["goose", "goose"],
  ["hermes", "Hermes Agent"],
  ["kimi", "Kimi Code"],
  ["openclaw", "OpenClaw"],
  ["opencode", "OpenCode"],
  ["pi", "Pi"],
  ["windsurf", "Windsurf"],
] as const;

const COMMAND_HINT = t`Run both in the folder where Countersign is installed. The first \
prompts for the credential.`;

function codingAgent([value, title]: (typeof CODING_AGENTS)[number]): Connection {
  return {
    value,
    title,
    hint: COMMAND_HINT,
    texts: (url) => [
      {
        title: t`Request approval before every call`,
        text: `npx countersign install ${value} --url ${url}`,
      },
      { title: t`Test that calls wait`, text: `npx countersign doctor ${value}` },
    ],
  };
}

const MCP: Connection = {
  value: "mcp",
  title: t`Any MCP client, with the gateway`,
  hint: t`Replace /path/to. The command after -- starts the MCP server.`,
  texts: (url) => [
    { title: t`Store the credential`, text: STORE },
    {
      title: t`Settings of the MCP client`,
      text: JSON.stringify({ mcpServers: { files: gateway(url) } }, null, 2),
    },
  ],
};

const STORE = `printf 'Credential: ' && read -rs TOKEN && mkdir -p ~/.config/countersign &&
  (umask 077 && printf '%s\\n' "$TOKEN" > ~/.config/countersign/instance.token)`;

function gateway(url: string) {
  const token = "/path/to/.config/countersign/instance.token";
  const server = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/path/to/work"];
  const options = ["--name", "files", "--provider-url", url, "--token-file", token];
  return {
    command: "npx",
    args: ["countersign", "mcp-gateway", ...options, "--", ...server],
  };
}

/** Both variables, for a program that the same shell starts. */
function variables(url: string): ConnectText {
  return {
    title: t`Set the variables`,
    text: `export COUNTERSIGN_URL=${url} && printf 'Credential: ' &&
  read -rs COUNTERSIGN_API_KEY && export COUNTERSIGN_API_KEY`,
  };
}

const TYPESCRIPT: Connection = {
  value: "typescript",
  title: t`TypeScript program`,
  hint: t`The program needs Node 24 and the package @countersign/sdk.`,
  texts: (url) => [
    variables(url),
    {
      title: "deploy.ts",
      text: `import { Countersign } from "@countersign/sdk";

const approvals = new Countersign(); // reads both variables

const deploy = approvals.tool("deploy", ({ env }: { env: string }) => \`deployed to \${env}\`);
const result = await deploy({ env: "prod" });
console.log(result.status === "executed" ? result.value : result.messageForModel);`,
    },
    { title: t`Run it`, text: "npx --no -- node deploy.ts" },
  ],
};

const PYTHON: Connection = {
  value: "python",
  title: t`Python program`,
  hint: t`The server must run with --extensions consume,outcome,server.`,
  texts: (url) => [
    variables(url),
    { title: t`Install the package`, text: "pip install agentapprovalprotocol==0.3.3" },
    {
      title: "deploy.py",
      text: `import os
from agentapprovalprotocol import Call, Client, Gate

gate = Gate(Client(os.environ["COUNTERSIGN_URL"], os.environ["COUNTERSIGN_API_KEY"]))
with gate.guard(Call(key="call-1", tool="deploy", arguments={"env": "prod"})) as verdict:
    print("deployed to prod" if verdict else verdict.reason)`,
    },
    { title: t`Run it`, text: "python deploy.py" },
  ],
};

const HTTP: Connection = {
  value: "http",
  title: t`Other: try it with curl`,
  hint: t`The call appears in the inbox. Nothing runs when you approve it.`,
  texts: (url) => [
    {
      title: t`Request approval`,
      // One shell command, so that `read` takes no pasted line. curl reads the header from stdin.
      text: `printf 'Credential: ' && read -rs TOKEN &&
  printf 'Authorization: Bearer %s\\n' "$TOKEN" |
  curl -sS ${url}/v1/requests \\
  -H @- \\
  -H "Idempotency-Key: $(date +%s)" \\
  -H 'Content-Type: application/json' \\
  -d '{"tool":"deploy","arguments":{"env":"prod"},"timeout":"10m"}'`,
    },
  ],
};

export const CONNECTIONS: readonly Connection[] = [
  ...CODING_AGENTS.map(codingAgent),
  MCP,
  TYPESCRIPT,
  PYTHON,
  HTTP,
];
