import { type ErrorCode, errorMessage, type MessageArguments } from "@bikeshare/contract/pure";

/** A code of the contract's catalogue, or one that only the command line reports. */
export type ServiceErrorCode = ErrorCode | "secrets_file_mismatch";

export interface ServiceErrorOptions extends ErrorOptions {
  /** Headers of the response, such as `WWW-Authenticate`; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The message over HTTP, if it differs from the usual one, which names commands, or lacks the path of the wrong field.
   * Default: the usual message.
   */
  readonly httpMessage?: string;
}

/**
 * A request or a command cannot be carried out, for a reason in the catalogue. Nothing was changed. Make it with
 * `serviceError`, or with the server's `commandError`, so that every message comes from a catalogue.
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
 * Returns an error with a message of the contract's catalogue. If the message's values contain `retryAfterSeconds`, the
 * response gets the header `Retry-After` too.
 */
export function serviceError<Code extends ErrorCode>(
  code: Code,
  ...rest: [...message: MessageArguments<Code>, options?: ServiceErrorOptions]
): ServiceError {
  // The types of the arguments depend on the code. Here only their positions matter.
  const [name, values, options] = rest as unknown as [unknown?, Values?, ServiceErrorOptions?];
  const message = errorMessage(code, ...([name, values] as unknown as MessageArguments<Code>));
  const seconds = values?.["retryAfterSeconds"];
  const headers = seconds === undefined ? options?.headers : { ...options?.headers, "retry-after": String(seconds) };
  return new ServiceError(code, message, { ...options, ...(headers && { headers }) });
}
