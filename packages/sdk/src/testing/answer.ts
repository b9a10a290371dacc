import { errorCatalogue, type ErrorCode, type ServiceError } from "./rules.ts";

/** A response, before it is sent. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Returns a successful answer. */
export function answer(body: object, status = 200): Answer {
  return { status, headers: {}, body: JSON.stringify(body) };
}

/** Returns the answer for an error. */
export function errorAnswer({ code, message, headers }: Pick<ServiceError, "code" | "message" | "headers">): Answer {
  const { status } = errorCatalogue[code as ErrorCode]; // Only errors of the command line have other codes.
  return { status, headers, body: JSON.stringify({ error: code, message }) };
}
