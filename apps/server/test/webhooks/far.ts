import type { AttemptFailure, AttemptRequest, AttemptResult } from "../../src/webhooks/rules/after-attempt.ts";
import type { Sender } from "../../src/webhooks/sender/sender.ts";

/** A POST that the scripted receiver got. */
export interface FarRequest extends AttemptRequest {
  readonly body: string;
  readonly deliveryId: string;
  /** The number of the event, from its data. */
  readonly n: number;
}

/** A scripted receiver in place of the network. The test decides its responses. */
export interface Far {
  /** Creates a sender for one dispatcher, which closes it. */
  sender(): Sender;
  /** All requests, in order. */
  readonly requests: readonly FarRequest[];
  /** Returns the response to a request. Default: 204. */
  respond: (request: FarRequest) => AttemptResult | Promise<AttemptResult>;
  /** Returns the number of requests under way to an address. */
  inFlight(url: string): number;
  /** Returns the most requests that were ever under way to an address at the same time. */
  most(url: string): number;
  /** Returns the ids of the deliveries that an address got, in order. */
  received(url: string): string[];
}

export function createFar(): Far {
  const requests: FarRequest[] = [];
  const underWay = new Map<string, number>();
  const most = new Map<string, number>();
  const step = (url: string, by: 1 | -1) => {
    const now = (underWay.get(url) ?? 0) + by;
    underWay.set(url, now);
    most.set(url, Math.max(most.get(url) ?? 0, now));
  };
  const far: Far = {
    requests,
    respond: () => answered(204),
    inFlight: (url) => underWay.get(url) ?? 0,
    most: (url) => most.get(url) ?? 0,
    received: (url) => requests.filter((request) => request.url === url).map(({ deliveryId }) => deliveryId),
    sender: () => ({
      async send(sent) {
        const request = readRequest(sent);
        requests.push(request);
        step(request.url, 1);
        try {
          const result = await far.respond(request);
          return { ...result, sentHeaders: result.remoteAddress === null ? [] : sent.headers };
        } finally {
          step(request.url, -1);
        }
      },
      close: () => Promise.resolve(),
    }),
  };
  return far;
}

/** Parses a request. @param sent a request of the service, so its body has the form that the service writes */
export function readRequest(sent: AttemptRequest): FarRequest {
  const body = typeof sent.body === "string" ? sent.body : Buffer.from(sent.body).toString();
  const said = JSON.parse(body) as { readonly delivery_id: string; readonly data: { readonly n: number } };
  return { ...sent, body, deliveryId: said.delivery_id, n: said.data.n };
}

const record = {
  sentHeaders: [],
  remoteAddress: "192.0.2.7",
  reusedConnection: false,
  answerHeaders: [["Server", "far"]],
  answerBody: new Uint8Array(),
  answerCut: false,
  retryAfterMs: null,
  timings: { dns: null, connect: 1, tls: 2, firstByte: 3, total: 6 },
} as const;

/** Returns the result of an attempt with a complete response. */
export function answered(status: number, retryAfterMs: number | null = null): AttemptResult {
  const outcome = status >= 200 && status < 300 ? "succeeded" : "rejected";
  return { ...record, outcome, status, failure: null, detail: null, retryAfterMs };
}

/** Returns the result of an attempt without a complete response. */
export function broken(failure: AttemptFailure): AttemptResult {
  return { ...record, remoteAddress: null, outcome: "failed", status: null, failure, detail: "as the test says" };
}

/** Holds requests until the test answers them. */
export interface Gate {
  /** Holds a request until the test answers it. */
  readonly wait: (request: FarRequest) => Promise<AttemptResult>;
  readonly waiting: readonly FarRequest[];
  /** Answers at most `n` of the waiting requests. */
  open(result?: AttemptResult, n?: number): void;
  /** Answers one of the waiting requests. */
  answer(request: FarRequest, result: AttemptResult): void;
}

export function createGate(): Gate {
  const held: { readonly request: FarRequest; readonly answer: (result: AttemptResult) => void }[] = [];
  return {
    wait: (request) =>
      new Promise((resolve) => {
        held.push({ request, answer: resolve });
      }),
    get waiting() {
      return held.map(({ request }) => request);
    },
    open(result = answered(204), n = held.length) {
      for (const { answer } of held.splice(0, n)) answer(result);
    },
    answer(wanted, result) {
      const at = held.findIndex(({ request }) => request === wanted);
      if (at >= 0) for (const { answer } of held.splice(at, 1)) answer(result);
    },
  };
}
