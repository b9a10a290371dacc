/**
 * The part of the contract without dependencies: its numbers, scopes, errors and messages, and the rules for texts of
 * requests. `@bikeshare/rules` uses it, and so does the SDK's fake, which also runs in browsers.
 */
export * from "./alert-words.ts";
export * from "./batch-warnings.ts";
export * from "./error-catalogue.ts";
export * from "./event-names.ts";
export * from "./export-words.ts";
export * from "./history-words.ts";
export * from "./limits.ts";
export * from "./messages.ts";
export * from "./sandbox-words.ts";
export * from "./scopes.ts";
export * from "./sum-words.ts";
export * from "./text-kinds.ts";
export * from "./text-rules.ts";
export * from "./vehicle-words.ts";
