import { errorCatalogue, type ErrorCode, type ServiceError } from "./rules.ts";

/** What the service answers. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A successful answer. */
export function answer(body: object, status = 200): Answer {
  return { status, headers: {}, body: JSON.stringify(body) };
}

/** The answer that an error is. */
export function errorAnswer({ code, message, headers }: Pick<ServiceError, "code" | "message" | "headers">): Answer {
  const { status } = errorCatalogue[code as ErrorCode]; // Only the operator's commands have other codes.
  return { status, headers, body: JSON.stringify({ error: code, message }) };
}
