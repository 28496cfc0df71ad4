/** The commands of the hooks. Each loads when it is called. */

import type { Command } from "@countersign/command-line";

export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  hook: async () => (await import("./hook.ts")).hook,
  install: async () => (await import("./install.ts")).installCommand,
  uninstall: async () => (await import("./uninstall.ts")).uninstallCommand,
  status: async () => (await import("./status.ts")).status,
  doctor: async () => (await import("./doctor.ts")).doctor,
};
