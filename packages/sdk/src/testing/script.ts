import type { ErrorCode } from "../json-types.generated.ts";
import { type Answer, errorAnswer } from "./answer.ts";
import type { Operation } from "./contract.generated.ts";
import { errorCatalogue } from "./rules.ts";

/* Scripts with which a test makes a fake fail: each says what happens to the next requests that it selects. */

/** What happens to one request. */
export type ScriptedAnswer =
  /** The request is answered as usual. */
  | "pass"
  /** The connection breaks before the service has read the request: nothing is done. */
  | "reset"
  /** The request is carried out, and the connection breaks before the answer. An idempotency key is for this case. */
  | "lost"
  /** The request gets no answer until the caller gives up. */
  | "hang"
  | ScriptedStatus
  | ScriptedDelay;

/** An answer instead of the usual one. The request is not carried out, but its key is checked and it counts. */
export interface ScriptedStatus {
  /**
   * The HTTP status. A status that no error of the service has, such as 502, is answered as a proxy does, in HTML, unless
   * `error` or `body` is given.
   */
  readonly status: number;
  /** The error code. Default: a code with this status. */
  readonly error?: ErrorCode | undefined;
  readonly message?: string | undefined;
  /** Seconds, for `Retry-After`. Default: 1 for 429, 5 for 503, otherwise none. */
  readonly retryAfter?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Replaces the body of the error. Sent as JSON. */
  readonly body?: unknown;
  /** Delay of the answer in milliseconds of the machine's clock. */
  readonly delay?: number | undefined;
}

/** The usual answer, late. */
export interface ScriptedDelay {
  /** Milliseconds of the machine's clock. */
  readonly delay: number;
}

/** The requests that a script applies to, and whether it repeats. */
export interface ScriptOptions {
  /** An operation, such as `GET /v1/rides/:id`, or a function that selects requests. Default: every request. */
  readonly match?: Operation | ((request: ScriptRequest) => boolean) | undefined;
  /** Whether the script starts again at its end, until it is stopped. */
  readonly repeat?: boolean | undefined;
}

/** The properties of a request by which a script selects it. */
export interface ScriptRequest {
  readonly operation: Operation | undefined;
  readonly method: string;
  readonly url: string;
}

/** A script in progress. */
export interface Script {
  /** Returns how many answers are left; with `repeat`, all. */
  left(): number;
  /** Removes the remaining answers. */
  stop(): void;
}

/** The scripts of a fake. */
export type Scripts = ReturnType<typeof createScripts>;

export function createScripts() {
  const scripts = new Set<{ readonly queue: ScriptedAnswer[]; readonly options: ScriptOptions }>();
  return {
    /** Adds a script after the others. The first one that applies to a request answers it. */
    add(answers: readonly ScriptedAnswer[], options: ScriptOptions): Script {
      const script = { queue: [...answers], options };
      scripts.add(script);
      return {
        left: () => (scripts.has(script) ? script.queue.length : 0),
        stop: () => void scripts.delete(script),
      };
    },
    /** Returns what happens to a request: the next answer of the first script that applies to it. */
    next(request: ScriptRequest): ScriptedAnswer {
      for (const { queue, options } of scripts) {
        if (!isFor(options.match, request)) continue;
        const step = queue.shift();
        if (step === undefined) continue;
        if (options.repeat === true) queue.push(step);
        return step;
      }
      return "pass";
    },
  };
}

function isFor(match: ScriptOptions["match"], request: ScriptRequest): boolean {
  if (match === undefined) return true;
  return typeof match === "string" ? match === request.operation : match(request);
}

/** Default seconds of `Retry-After`, by status. */
const RETRY_AFTER_SECONDS: Readonly<Record<number, number>> = { 429: 1, 503: 5 };

/** Returns the answer of a script's step. */
export function scriptedAnswer(scripted: ScriptedStatus): Answer {
  const { status, body, retryAfter = RETRY_AFTER_SECONDS[status] } = scripted;
  const headers = {
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    // When the rate limit rejects a request, no requests are left.
    ...(status === 429 && { ratelimit: `"default";r=0;t=${retryAfter}` }),
    ...scripted.headers,
  };
  if (body !== undefined) return { status, headers, body: JSON.stringify(body) };
  const codes = Object.keys(errorCatalogue) as ErrorCode[];
  const code = scripted.error ?? codes.find((each) => errorCatalogue[each].status === status);
  if (code !== undefined) {
    const message = scripted.message ?? `Scripted: ${code}.`;
    return { ...errorAnswer({ code, message, headers }), status };
  }
  return { status, headers: { "content-type": "text/html", ...headers }, body: `<h1>${status}</h1>` };
}
