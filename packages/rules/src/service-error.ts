import { type ErrorCode, errorMessage, type MessageArguments } from "@bikeshare/contract/pure";

/** A code of the contract's catalogue, or one that only the operator's commands meet. */
export type ServiceErrorCode = ErrorCode | "secrets_file_mismatch";

export interface ServiceErrorOptions extends ErrorOptions {
  /** Headers that the answer must carry, such as `WWW-Authenticate`; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The message over HTTP, where the other one names commands that only operators can run. */
  readonly httpMessage?: string;
}

/**
 * What was asked for cannot be done, for a reason that a catalogue names. Nothing was changed. Made by `serviceError` and
 * the server's `commandError` alone, so that every message is one of their catalogues'.
 */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ServiceErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly httpMessage: string;

  constructor(code: ServiceErrorCode, message: string, options: ServiceErrorOptions = {}) {
    const { headers = {}, cause, httpMessage = message } = options;
    super(message, { cause });
    this.code = code;
    this.headers = headers;
    this.httpMessage = httpMessage;
  }
}

type Values = Readonly<Record<string, string | number>>;

/**
 * Returns an error of the contract's catalogue, with one of its messages. Where the message says after how many seconds to try
 * again, `Retry-After` says it too.
 */
export function serviceError<Code extends ErrorCode>(
  code: Code,
  ...rest: [...message: MessageArguments<Code>, options?: ServiceErrorOptions]
): ServiceError {
  const [name, values, options] = rest as unknown as [unknown?, Values?, ServiceErrorOptions?];
  const message = errorMessage(code, ...([name, values] as unknown as MessageArguments<Code>));
  const seconds = values?.["retryAfterSeconds"];
  const headers = seconds === undefined ? options?.headers : { ...options?.headers, "retry-after": String(seconds) };
  return new ServiceError(code, message, { ...options, ...(headers && { headers }) });
}
