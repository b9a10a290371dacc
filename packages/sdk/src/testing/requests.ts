import type { Answer } from "./answer.ts";
import { hash } from "./cursor.ts";
import type { Operation } from "./operations.ts";
import { type ScriptedAnswer, type Scripts, scriptedAnswer } from "./script.ts";
import { type Incoming, match, type Parts, serve } from "./service.ts";

/** A request that the fake was sent. */
export interface SeenRequest {
  /** `GET /v1/rides/:id`; undefined for a path or a method that there is not. */
  readonly operation: Operation | undefined;
  readonly method: string;
  readonly url: string;
  /** Names in lower case; without `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it came; empty when there was none. */
  readonly body: string;
  /** Of the answer; undefined where there was none. */
  status: number | undefined;
}

/** The connection broke: what a scripted `reset`, `lost` or `hang` comes to. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** Answers requests as they come, and keeps what came. */
export interface Requests {
  readonly seen: readonly SeenRequest[];
  /**
   * @param signal ends the wait for a late answer
   * @throws ConnectionLost; the signal's reason
   */
  answer(incoming: Incoming, signal: AbortSignal): Promise<Answer>;
}

export function createRequests(parts: Parts, scripts: Scripts): Requests {
  const seen: SeenRequest[] = [];
  let made = 0;
  return {
    seen,
    async answer(incoming, signal) {
      const { method, url, body } = incoming;
      const headers = Object.fromEntries([...incoming.headers].filter(([name]) => name !== "authorization"));
      const operation = match(incoming)?.operation;
      const note: SeenRequest = { operation, method, url: url.href, headers, body, status: undefined };
      seen.push(note);
      const answered = await follow(parts, incoming, scripts.next(note), signal);
      note.status = answered.status;
      const id = `req_${String(++made).padStart(6, "0")}`;
      return finish(parts, incoming, answered, id);
    },
  };
}

/** Does what the script says. */
async function follow(parts: Parts, incoming: Incoming, step: ScriptedAnswer, signal: AbortSignal): Promise<Answer> {
  signal.throwIfAborted();
  if (step === "reset") throw new ConnectionLost("read ECONNRESET");
  if (step === "hang") await wait(Infinity, signal);
  if (typeof step === "object" && step.delay !== undefined) await wait(step.delay, signal);
  const instead = typeof step === "object" && "status" in step ? scriptedAnswer(step) : undefined;
  const answer = serve(parts, incoming, instead);
  if (step === "lost") throw new ConnectionLost("read ECONNRESET");
  return answer;
}

/** @throws the signal's reason */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = ms < Infinity ? setTimeout(resolve, ms) : undefined;
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

/** What every answer has, whatever it is. */
function finish({ city }: Parts, { method, headers: asked }: Incoming, answer: Answer, requestId: string): Answer {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    date: new Date(city.now()).toUTCString(),
    "request-id": requestId,
    ...answer.headers,
  };
  const isKept = answer.status === 200 && ["GET", "HEAD"].includes(method) && headers["ratelimit"] !== undefined;
  if (isKept) {
    const etag = `W/"${hash(answer.body).toString(36)}"`;
    Object.assign(headers, { etag, "cache-control": "private, no-cache", vary: "authorization, accept-encoding" });
    const known = asked
      .get("if-none-match")
      ?.split(",")
      .map((tag) => tag.trim().replace(/^(?!W\/|\*$)/, "W/"));
    if (known?.some((tag) => tag === etag || tag === "*") === true) {
      delete headers["content-type"];
      return { status: 304, headers, body: "" };
    }
  }
  return { status: answer.status, headers, body: method === "HEAD" ? "" : answer.body };
}
