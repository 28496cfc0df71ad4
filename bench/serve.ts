/**
 * The subject: the real provider with its real settings, in a child process of the benchmark.
 * Rate limits are off, because one instance sends everything. The log goes to standard output,
 * as it does in production; the benchmark points that at a file.
 *
 * Called with the data folder, and settings as NAME=VALUE.
 */

import { createToken, readConfig, startProvider, toSecrets, toSettings } from "@countersign/server";

const NO_LIMIT = "0";

const [data, ...settings] = process.argv.slice(2);
const flags = {
  data,
  port: "0",
  instance_rate: NO_LIMIT,
  provisioner_rate: NO_LIMIT,
  reviewer_rate: NO_LIMIT,
  unauthenticated_rate: NO_LIMIT,
  ...Object.fromEntries(settings.map(split)),
};
const config = readConfig(flags, {});
const provider = await startProvider(toSettings(config), toSecrets(config));

const order = { name: "bench", project: "bench", role: "reviewer", expiresAt: null } as const;
const provisioner = await createToken(provider.context, { ...order, kind: "provisioner" });
const reviewer = await createToken(provider.context, { ...order, kind: "reviewer" });

// Ends with the benchmark, however that ends; a profile is written on the way out.
process.once("disconnect", () => provider.close().then(() => process.exit()));
process.send?.({
  port: Number(new URL(provider.url).port),
  provisionerToken: provisioner.token,
  reviewerToken: reviewer.token,
});

/** A value may hold the sign that ends the name. */
function split(setting: string): [string, string] {
  const nameEnd = setting.indexOf("=");
  return [setting.slice(0, nameEnd), setting.slice(nameEnd + 1)];
}
