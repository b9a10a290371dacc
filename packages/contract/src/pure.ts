/**
 * What of the contract needs no library: its numbers, scopes, errors and messages, and how values of a query string are
 * read. `@bikeshare/rules` takes it, and with it the SDK's fake, which runs in browsers too.
 */
export * from "./error-catalogue.ts";
export * from "./limits.ts";
export * from "./messages.ts";
export * from "./query-values.ts";
export * from "./scopes.ts";
export * from "./text.ts";
export * from "./text-kinds.ts";
