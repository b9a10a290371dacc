/**
 * The functions of `@bikeshare/webhooks/testing`, which sign deliveries. The build replaces this import by a copy of that
 * package's files (tools/copy-libraries.ts), because the published package has no dependencies.
 */
export * from "@bikeshare/webhooks/testing";
