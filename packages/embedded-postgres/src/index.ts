/** Starts a PostgreSQL that needs no installation, shares it among processes, keeps it running, and stops it. */
export { findFreePort } from "./configuration.ts";
export { ensureDataDir, ensureLockFile, tryExclusiveLock, waitForLock } from "./data-directory.ts";
export { type EmbeddedPostgres, openEmbeddedPostgres } from "./embedded-postgres.ts";
export type { EmbeddedPostgresEvent } from "./events.ts";
export { EmbeddedPostgresError, makeDirectory } from "./operating-system.ts";
