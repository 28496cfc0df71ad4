/** Writes docs/reference/config.md from the table of settings. */

import { ALL_OPTIONS, environmentName, flagName, type Option, SECRET_OPTIONS } from "./options.ts";

/** Sections of the page. */
export const GROUP_TITLES: Readonly<Record<Option["group"], string>> = {
  server: "Server",
  limits: "Limits",
  "sign-in": "Sign-in at an identity provider",
  workloads: "Workloads",
  webhooks: "Webhooks",
  channels: "Notifying reviewers",
  audit: "Audit stream to a SIEM",
  client: "Commands that connect to a server",
};

/** The complete page docs/reference/config.md. */
export function configPage(): string {
  const sections = Object.entries(GROUP_TITLES).map(([group, title]) => {
    const rows = ALL_OPTIONS.filter((option) => option.group === group).map(tableRow);
    const head = "| Setting | Command line | Environment | Default | Meaning |";
    return [`## ${title}`, "", head, "| --- | --- | --- | --- | --- |", ...rows].join("\n");
  });
  return `${[INTRODUCTION, ...sections].join("\n\n")}\n`;
}

const SECRET_NAMES = SECRET_OPTIONS.map(({ name }) => `\`${name}\``).join(", ");

const INTRODUCTION = `# Configuration

<!-- Made by \`npm run docs\` from packages/server/src/config/options.ts. -->

This page lists every setting of the server and of the client commands.

- You can set a setting on the command line, in the environment, or in the YAML file that
  \`--config\` names. The command line overrides the environment, and the environment overrides
  the file.
- The server accepts secrets only from the environment or the file.
- A secret can be in a file of its own: \`COUNTERSIGN_SECRET_KEY_FILE=/run/secrets/key\` names the
  file. This works for the settings below: ${SECRET_NAMES}.
- A duration is a whole number followed by \`s\`, \`m\` or \`h\`.
- If a value is invalid, the server does not start. The message names every invalid setting.
- If the environment has an unknown variable \`COUNTERSIGN_...\`, every command that reads settings
  stops. The message names the nearest setting.

These variables are not settings of the server:

| Variables | Use |
| --- | --- |
| \`COUNTERSIGN_API_KEY\`, \`COUNTERSIGN_API_KEY_FILE\` | Agents read them. |
| \`COUNTERSIGN_HOOK_...\` | Hooks read them. Agents also read \`COUNTERSIGN_URL\`. |
| \`COUNTERSIGN_ADAPTER_...\`, \`COUNTERSIGN_INSTANCE_TOKEN\` | Agents read them. Deprecated. |
| \`COUNTERSIGN_IMAGE\`, \`COUNTERSIGN_TEST_...\`, \`COUNTERSIGN_MODEL_...\` | Tests read them. |
| \`COUNTERSIGN_SERVICE_HOST\`, \`COUNTERSIGN_PORT=tcp://...\` | Kubernetes sets them. Ignored. |
| \`COUNTERSIGN_PORT_8787_TCP\` and similar | Kubernetes sets them. Ignored. |

The server does not start with a config file that every user of the machine can change. If the file
contains secrets, allow only the user of the server to read it (\`chmod 600\`). The server does not
start if it owns the file, can write to it, and every user can read it. It does not check other
files, because every user inside a container can read a mounted secret.`;

function tableRow(option: Option): string {
  const { name, help, secret, value } = option;
  const usage = value === undefined ? flagName(name) : `${flagName(name)} ${value}`;
  const flag = secret === true ? "" : `\`${usage}\``;
  const fallback = option.default ? `\`${option.default}\`` : "";
  return `| \`${name}\` | ${flag} | \`${environmentName(name)}\` | ${fallback} | ${help} |`;
}
