/** The provider as a library: read the configuration, open the database, serve. */

export { exportEvents } from "./audit/export-events.ts";
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
export {
  parseStreamFormat,
  SINK_KINDS,
  type SinkKind,
  type StreamFormat,
} from "./core/audit-stream.ts";
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
export { archiveDatabase, type LogArchive, sinksOf } from "./maintenance/archive-database.ts";
export { type ArchiveFile, folderOf, listArchive } from "./maintenance/archive-files.ts";
export { type AuditDatabase, withAuditDatabase, withBackup } from "./maintenance/audit-database.ts";
export { compactDatabase } from "./maintenance/compact-database.ts";
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
export { proveArchived } from "./maintenance/prove-archived.ts";
export { readLines } from "./maintenance/read-lines.ts";
export { verifyArchive } from "./maintenance/verify-archive.ts";
export { type DatabaseVerification, verifyDatabase } from "./maintenance/verify-database.ts";
export {
  type OpenedContext,
  openContext,
  openKnownContext,
  type Parts,
  type Rotation,
  rotateSecretKey,
} from "./open-context.ts";
export {
  type CreatedInstance,
  createInstanceAsOperator,
} from "./operations/instances/createInstance.ts";
export { deleteInstanceAsOperator } from "./operations/instances/deleteInstance.ts";
export {
  listInstancesAsOperator,
  type ReviewedInstance,
} from "./operations/instances/listInstances.ts";
export { disablePerson, type PersonAccess } from "./operations/people/disablePerson.ts";
export { type ListedPerson, listPeople } from "./operations/people/listPeople.ts";
export { type ListedReviewer, listReviewers } from "./operations/people/listReviewers.ts";
export { removeReviewerNamed } from "./operations/people/removeReviewer.ts";
export { type ReviewerChange, setReviewer } from "./operations/people/setReviewer.ts";
export { publishFirstPolicy, readActivePolicyNumber } from "./operations/policy/publishPolicy.ts";
export { type Release, releaseProposal } from "./operations/policy/publishProposal.ts";
export { createScimToken } from "./operations/scim/createScimToken.ts";
export { type ListedScimToken, listScimTokens } from "./operations/scim/listScimTokens.ts";
export { revokeScimToken } from "./operations/scim/revokeScimToken.ts";
export { linkPerson, type PersonLink } from "./operations/sign-in/linkPerson.ts";
export { makeReturnLink } from "./operations/sign-in/makeReturnLink.ts";
export { makeSetupLink, needsSetup } from "./operations/sign-in/makeSetupLink.ts";
export { createToken, type TokenOrder } from "./operations/tokens/createToken.ts";
export { type ListedToken, listTokens } from "./operations/tokens/listTokens.ts";
export { revokeToken } from "./operations/tokens/revokeToken.ts";
export { type Provider, startProvider } from "./provider.ts";
export { Report } from "./report.ts";
export { describeKeys, type Secrets } from "./secrets/master-key.ts";
export { backupDatabase } from "./storage/sqlite/backup.ts";
export { databaseFile } from "./storage/sqlite/data-folder.ts";
export { DataInUse } from "./storage/sqlite/data-lock.ts";
export { recordBackup } from "./storage/sqlite/last-backup.ts";
export { readServerFile, type ServerFile } from "./storage/sqlite/server-file.ts";
