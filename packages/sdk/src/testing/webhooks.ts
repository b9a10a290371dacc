/**
 * Signed deliveries, as `@bikeshare/webhooks/testing` makes them. The build puts a copy of that package's files in place
 * of this import (tools/copy-libraries.ts): the published package depends on nothing.
 */
export * from "@bikeshare/webhooks/testing";
