import { type BatchResult, batchResults, errorBody } from "@bikeshare/contract";

/** How the service answered a batch. */
export type Answer =
  | { readonly kind: "done"; readonly results: readonly BatchResult[] }
  /** Nobody knows whether it was done: the same request is to be sent again, after the milliseconds it names. */
  | { readonly kind: "again"; readonly reason: string; readonly after: number | undefined }
  /** The batch as a whole is wrong, and stays so. */
  | { readonly kind: "refused"; readonly reason: string };

/** Sends one batch to the operator's interface. Never throws. */
export type PostBatch = (path: string, items: readonly unknown[], idempotencyKey: string) => Promise<Answer>;

/** Milliseconds that an answer may take. A service that is stopping holds requests no longer than 20 s. */
const PATIENCE = 20_000;

/** Talks to the operator's interface of a service. */
export function createOperatorClient(baseUrl: string, operatorKey: string): PostBatch {
  return async (path, items, idempotencyKey) => {
    try {
      const response = await fetch(`${baseUrl}/operator/v1/${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${operatorKey}`,
          "content-type": "application/json",
          "idempotency-key": idempotencyKey,
        },
        body: JSON.stringify({ items }),
        signal: AbortSignal.timeout(PATIENCE),
      });
      const body: unknown = await response.json();
      if (response.status === 200) return { kind: "done", results: batchResults.parse(body).results };
      return refusal(response, body);
    } catch (error) {
      // It went away, hung up half-way or took too long.
      return { kind: "again", reason: reasonOf(error), after: undefined };
    }
  };
}

function refusal(response: Response, body: unknown): Answer {
  const said = errorBody.safeParse(body);
  const reason = said.success ? `${said.data.error}: ${said.data.message}` : `status ${response.status}`;
  const isPassing =
    response.status >= 500 ||
    response.status === 429 ||
    (said.success && said.data.error === "idempotency_in_progress");
  if (!isPassing) return { kind: "refused", reason };
  const seconds = response.headers.get("retry-after");
  return { kind: "again", reason, after: seconds === null ? undefined : Number(seconds) * 1000 };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
