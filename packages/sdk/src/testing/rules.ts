/**
 * The service's rules, numbers and messages, which the fake follows. The build replaces this import by a copy of the files
 * of `@bikeshare/rules` (tools/copy-libraries.ts), because the published package has no dependencies.
 */
export * from "@bikeshare/rules";
