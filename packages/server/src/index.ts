/** The provider as a library: configure, open, serve. */

export { exportLog } from "./audit/export-log.ts";
export type { Finding } from "./audit/finding.ts";
export { findEntriesOfRequest, proveEntries, writeProven } from "./audit/prove-entries.ts";
export { readSigned, verifyExport, verifyProof } from "./audit/verify-export.ts";
export { systemClock } from "./clock.ts";
export { configPage } from "./config/config-reference.ts";
export { ALL_OPTIONS, flagName, OPTIONS, type OptionValues } from "./config/options.ts";
export { publicUrlOf } from "./config/public-url.ts";
export { ConfigError, type Flags, readConfig } from "./config/read-config.ts";
export { type SecretSettings, type Settings, toSecrets, toSettings } from "./config/settings.ts";
export { assertGroups } from "./core/groups.ts";
export { REVIEWER_ROLES, type ReviewerRole } from "./core/roles.ts";
export { scopesFault } from "./core/scopes.ts";
export {
  type Checkpoint,
  readCheckpoint,
  readVerifier,
  type Verifier,
  writeVerifier,
} from "./core/signed-note.ts";
export { Failure } from "./failure.ts";
export { type AuditDatabase, withAuditDatabase } from "./maintenance/audit-database.ts";
export {
  type Imported,
  type ImportOptions,
  importDatabase,
} from "./maintenance/import-database.ts";
export {
  checkDatabase,
  type Migrated,
  migrateDatabase,
  type SchemaState,
} from "./maintenance/migrate-database.ts";
export { type DatabaseVerification, verifyDatabase } from "./maintenance/verify-database.ts";
export {
  type OpenedContext,
  openContext,
  openKnownContext,
  type Parts,
  type Rotation,
  rotateSecretKey,
} from "./open-context.ts";
export { createToken, type TokenOrder } from "./operations/createToken.ts";
export { disablePerson, type PersonStanding } from "./operations/disablePerson.ts";
export { linkPerson, type PersonLink } from "./operations/linkPerson.ts";
export { type ListedPerson, listPeople } from "./operations/listPeople.ts";
export { type ListedReviewer, listReviewers } from "./operations/listReviewers.ts";
export { type ListedToken, listTokens } from "./operations/listTokens.ts";
export { makeReturnLink } from "./operations/makeReturnLink.ts";
export { makeSetupLink, needsSetup } from "./operations/makeSetupLink.ts";
export { type Release, releaseProposal } from "./operations/publishProposal.ts";
export { removeReviewerNamed } from "./operations/removeReviewer.ts";
export { revokeToken } from "./operations/revokeToken.ts";
export { type ReviewerChange, setReviewer } from "./operations/setReviewer.ts";
export { type Provider, startProvider } from "./provider.ts";
export { Report } from "./report.ts";
export { describeKeys, type Secrets } from "./secrets/master-key.ts";
export { backupDatabase } from "./storage/sqlite/backup.ts";
export { databaseFile } from "./storage/sqlite/data-folder.ts";
