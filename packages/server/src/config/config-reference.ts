/** Writes docs/reference/config.md from the table of settings. */

import { ALL_OPTIONS, environmentName, flagName, type Option } from "./options.ts";

const GROUPS: Readonly<Record<Option["group"], string>> = {
  server: "Server",
  limits: "Limits",
  "sign-in": "Sign-in at an identity provider",
  webhooks: "Webhooks",
  channels: "Telling reviewers",
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

Every setting can be given on the command line, in the environment or in a YAML file named by
\`--config\`; the first of the three that names it wins. A wrong value stops the start, and the
message names every fault. Secrets are taken from the environment or the file only.
Durations are a whole number and \`s\`, \`m\` or \`h\`.

A variable \`COUNTERSIGN_...\` that is not a setting stops every command that reads settings, and
the message names the nearest setting. These are read by other programs and are accepted:
\`COUNTERSIGN_ADAPTER_...\`, \`COUNTERSIGN_INSTANCE_TOKEN\`, \`COUNTERSIGN_IMAGE\`,
\`COUNTERSIGN_TEST_...\` and \`COUNTERSIGN_MODEL_...\`. Variables that Kubernetes sets for a
service, such as \`COUNTERSIGN_SERVICE_HOST\`, \`COUNTERSIGN_PORT_8787_TCP\` and
\`COUNTERSIGN_PORT=tcp://...\`, are ignored.

A config file that every user of the machine can change is refused. One that holds a secret should
be readable by the server's user alone (\`chmod 600\`). The server does not check this: a secret
that a container runtime mounts is readable by all inside of the container.`;

function tableRow(option: Option): string {
  const { name, help, secret, value } = option;
  const usage = value === undefined ? flagName(name) : `${flagName(name)} ${value}`;
  const flag = secret === true ? "" : `\`${usage}\``;
  const fallback = option.default ? `\`${option.default}\`` : "";
  return `| \`${name}\` | ${flag} | \`${environmentName(name)}\` | ${fallback} | ${help} |`;
}
