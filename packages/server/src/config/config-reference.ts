/** Writes docs/reference/config.md from the table of settings. */

import { ALL_OPTIONS, environmentName, flagName, type Option } from "./options.ts";

const GROUPS: Readonly<Record<Option["group"], string>> = {
  server: "Server",
  limits: "Limits",
  "sign-in": "Sign-in at an identity provider",
  webhooks: "Webhooks",
  channels: "Notifying reviewers",
  client: "Commands that connect to a server",
};

/** The complete page docs/reference/config.md. */
export function configPage(): string {
  const sections = Object.entries(GROUPS).map(([group, title]) => {
    const rows = ALL_OPTIONS.filter((option) => option.group === group).map(tableRow);
    const head = "| Setting | Command line | Environment | Default | Meaning |";
    return [`## ${title}`, "", head, "| --- | --- | --- | --- | --- |", ...rows].join("\n");
  });
  return `${[INTRODUCTION, ...sections].join("\n\n")}\n`;
}

const INTRODUCTION = `# Configuration

<!-- Made by \`npm run docs\` from packages/server/src/config/options.ts. -->

This page lists every setting of the server and of the client commands.

- A setting comes from the command line, the environment or the YAML file of \`--config\`. They
  have precedence in this order.
- Secrets come from the environment or the file only.
- A duration is a whole number followed by \`s\`, \`m\` or \`h\`.
- An invalid value stops the start. The message names every invalid setting.
- An unknown variable \`COUNTERSIGN_...\` stops every command that reads settings. The message
  names the nearest setting.

| Variables | Handling |
| --- | --- |
| \`COUNTERSIGN_API_KEY\`, \`COUNTERSIGN_HOOK_...\` | Read by agents, with \`COUNTERSIGN_URL\`. |
| \`COUNTERSIGN_ADAPTER_...\`, \`COUNTERSIGN_INSTANCE_TOKEN\` | Read by agents (deprecated). |
| \`COUNTERSIGN_IMAGE\`, \`COUNTERSIGN_TEST_...\`, \`COUNTERSIGN_MODEL_...\` | Read by tests. |
| \`COUNTERSIGN_SERVICE_HOST\`, \`COUNTERSIGN_PORT=tcp://...\` | Ignored; set by Kubernetes. |
| \`COUNTERSIGN_PORT_8787_TCP\` and similar | Ignored; set by Kubernetes. |

The server rejects a config file that every user of the machine can change. Restrict a file with
secrets to the user of the server (\`chmod 600\`). The server does not check this, because every
user inside a container can read a mounted secret.`;

function tableRow(option: Option): string {
  const { name, help, secret, value } = option;
  const usage = value === undefined ? flagName(name) : `${flagName(name)} ${value}`;
  const flag = secret === true ? "" : `\`${usage}\``;
  const fallback = option.default ? `\`${option.default}\`` : "";
  return `| \`${name}\` | ${flag} | \`${environmentName(name)}\` | ${fallback} | ${help} |`;
}
