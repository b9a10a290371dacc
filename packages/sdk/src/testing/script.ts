import type { ErrorCode } from "../json-types.generated.ts";
import { type Answer, errorAnswer } from "./answer.ts";
import type { Operation } from "./contract.generated.ts";
import { errorCatalogue } from "./rules.ts";

/** What becomes of one request. */
export type ScriptedAnswer =
  /** As usual: for those between. */
  | "pass"
  /** The connection breaks before the service has read the request: nothing is done. */
  | "reset"
  /** The request is done, and the connection breaks before its answer: what an idempotency key is for. */
  | "lost"
  /** No answer ever, until the caller gives up. */
  | "hang"
  | ScriptedStatus
  | ScriptedDelay;

/** An answer in place of the usual one. Nothing is done; the key is looked at and the request counts, as always. */
export interface ScriptedStatus {
  /** One that the service knows none of, such as 502, is answered as a proxy in front of it would. */
  readonly status: number;
  /** The service's code; one of this status if not said. */
  readonly error?: ErrorCode | undefined;
  readonly message?: string | undefined;
  /** Seconds, for `Retry-After`. Of 429 it is 1 if not said, of 503 it is 5. */
  readonly retryAfter?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Replaces the body of the error. */
  readonly body?: unknown;
  /** Milliseconds of the machine's clock until it comes. */
  readonly delay?: number | undefined;
}

/** The usual answer, late. */
export interface ScriptedDelay {
  /** Milliseconds of the machine's clock. */
  readonly delay: number;
}

/** Which requests a script is for, and how often. */
export interface ScriptOptions {
  /** An operation, such as `GET /v1/rides/:id`, or what says it of a request; every request if not said. */
  readonly match?: Operation | ((request: ScriptRequest) => boolean) | undefined;
  /** Whether it begins again at its end, until it is stopped. */
  readonly repeat?: boolean | undefined;
}

/** What of a request decides whether a script is for it. */
export interface ScriptRequest {
  readonly operation: Operation | undefined;
  readonly method: string;
  readonly url: string;
}

/** A script that was given. */
export interface Script {
  /** Answers that were not given yet. */
  left(): number;
  /** Takes back what is left of it. */
  stop(): void;
}

/** The scripts of a fake. */
export type Scripts = ReturnType<typeof createScripts>;

export function createScripts() {
  const scripts = new Set<{ readonly queue: ScriptedAnswer[]; readonly options: ScriptOptions }>();
  return {
    add(answers: readonly ScriptedAnswer[], options: ScriptOptions): Script {
      const script = { queue: [...answers], options };
      scripts.add(script);
      return {
        left: () => (scripts.has(script) ? script.queue.length : 0),
        stop: () => void scripts.delete(script),
      };
    },
    /** What becomes of a request: the next answer of the first script that is for it. */
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

/** Seconds that the service asks for where nothing else is said, by status. */
const RETRY_AFTER_SECONDS: Readonly<Record<number, number>> = { 429: 1, 503: 5 };

/** The answer that a script asks for. */
export function scriptedAnswer(scripted: ScriptedStatus): Answer {
  const { status, body, retryAfter = RETRY_AFTER_SECONDS[status] } = scripted;
  const headers = {
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    // Who is refused has nothing left.
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
