import type { ErrorCode } from "../wire.generated.ts";
import { errorStatus } from "./contract.generated.ts";

/** What the service answers. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request that the service refuses, for a reason that its catalogue names. Nothing was changed. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }
}

/** The answer that an error of the catalogue is. */
export function errorAnswer({ code, message, headers }: Pick<Refused, "code" | "message" | "headers">): Answer {
  return { status: errorStatus[code], headers, body: JSON.stringify({ error: code, message }) };
}
