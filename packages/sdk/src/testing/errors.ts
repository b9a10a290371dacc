import { errorCatalogue, type ErrorCode, errorMessage, type MessageArguments } from "./rules.ts";

/** What the service answers. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request that the service refuses, for a reason of the contract's catalogue. Nothing was changed. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }
}

/** The error with a message of the catalogue. */
export function serviceError<Code extends ErrorCode>(code: Code, ...message: MessageArguments<Code>): ServiceError {
  return new ServiceError(code, errorMessage(code, ...message));
}

/** The answer that an error is. */
export function errorAnswer({ code, message, headers }: Pick<ServiceError, "code" | "message" | "headers">): Answer {
  return { status: errorCatalogue[code].status, headers, body: JSON.stringify({ error: code, message }) };
}
