/**
 * The functions of `@bikeshare/webhooks`, so that a partner needs to install only one package. The build replaces this
 * import by a copy of that package's files (tools/copy-libraries.ts), because the published package has no dependencies.
 */
export * from "@bikeshare/webhooks";
