import type { ErrorBody, ErrorCode } from "@bikeshare/contract";

/** The bytes of an error's body: exactly `error` and `message`. */
export function errorJson(error: ErrorCode, message: string): string {
  const body: ErrorBody = { error, message };
  return JSON.stringify(body);
}
