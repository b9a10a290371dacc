import { createHttpClient, type HttpRequest } from "./client.ts";

/** The requests to repeat. */
export interface Requested {
  /** The address of the service. */
  readonly base: string;
  /** Paths that are requested in turn, so that no cached answer is measured. */
  readonly paths: readonly string[];
  /** Keys that are used in turn. */
  readonly keys?: readonly string[] | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The expected status. Another one ends the load with an error. Default: 200. */
  readonly status?: number | undefined;
  /** Whether other statuses do not end the load, because the service may be too busy. They are not counted. */
  readonly isTolerant?: boolean;
}

/**
 * Runs a closed-model load: each connection sends its next request after the complete answer. Only the status and the length
 * of an answer are read. Requests in flight at the end are dropped and not counted.
 */
export async function saturate(
  { base, paths, keys = [""], headers, status = 200, isTolerant = false }: Requested,
  connections: number,
  seconds: number,
): Promise<{ readonly requests: number; readonly seconds: number; readonly bytes: number }> {
  // Without keys there is one empty key, which is not sent.
  const all = paths.flatMap((path) =>
    keys.map((key): HttpRequest => ({ path, ...(key !== "" && { key }), ...(headers && { headers }) })),
  );
  const client = createHttpClient(base, { connections, keepsBodies: false });
  const over = Promise.withResolvers<void>();
  let next = 0;
  let requests = 0;
  let bytes = 0;
  let isOver = false;
  const send = () => {
    const request = all[next++ % all.length];
    if (request === undefined) return over.reject(new Error("There is nothing to ask for."));
    return client.send(request, (answer) => {
      if (isOver) return;
      if (answer.status === status) {
        requests++;
        bytes += answer.bytes;
      }
      if (answer.status === status || isTolerant) send();
      else over.reject(new Error(`${base}${request.path} answered ${answer.outcome}`));
    });
  };
  const begun = performance.now();
  const timer = setTimeout(over.resolve, seconds * 1000);
  for (let n = 0; n < connections; n++) send();
  try {
    await over.promise;
    return { requests, bytes, seconds: (performance.now() - begun) / 1000 };
  } finally {
    isOver = true;
    clearTimeout(timer);
    client.close();
  }
}
