/**
 * What of the contract needs no library: its numbers, scopes, errors and messages, and what texts of
 * requests must be. `@bikeshare/rules` takes it, and with it the SDK's fake, which runs in browsers too.
 */
export * from "./batch-warnings.ts";
export * from "./error-catalogue.ts";
export * from "./event-names.ts";
export * from "./limits.ts";
export * from "./messages.ts";
export * from "./scopes.ts";
export * from "./text-kinds.ts";
export * from "./text-rules.ts";
export * from "./vehicle-words.ts";
