/**
 * The service's own rules, numbers and messages, which the fake follows. The build puts a copy of the files of
 * `@bikeshare/rules` in place of this import (tools/copy-libraries.ts): the published package depends on nothing.
 */
export * from "@bikeshare/rules";
