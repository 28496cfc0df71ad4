/**
 * What stands between an agent and its tools. The hook itself is in `@countersign/adapters/hook`,
 * which loads as little as it can: it runs before every tool call.
 */

export { AGENTS, type Agent, findAgent } from "./agents.ts";
export { examine } from "./doctor/doctor.ts";
export type { Finding } from "./doctor/finding.ts";
export { lookAtSettings } from "./doctor/look-at-settings.ts";
export { ownHandlers, UnusableSettings } from "./install/edit-settings.ts";
export { type InstallPlace, install, uninstall } from "./install/install.ts";
export {
  deleteInstance,
  makeInstance,
  type Probe,
  probeProvider,
} from "./install/provide-credential.ts";
export { SettingsFile } from "./install/settings-file.ts";
export { profileFile, usesFolder } from "./profile/folders.ts";
export { namesIn } from "./profile/hook-settings.ts";
export { type Profile, readProfile, readWait, WAIT_MS } from "./profile/profile.ts";
