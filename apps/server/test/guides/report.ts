import { setTimeout } from "node:timers/promises";
import type { BatchResult } from "@bikeshare/contract";

type Answer = { results: BatchResult[]; error?: string; message?: string };

/** Reports to the service what happened, and repeats the report until it is acknowledged. */
export async function report(baseUrl: string, operatorKey: string, path: string, items: object[]) {
  const request = {
    method: "POST",
    headers: {
      authorization: `Bearer ${operatorKey}`,
      "content-type": "application/json",
      "idempotency-key": crypto.randomUUID(),
    },
    body: JSON.stringify({ items }),
  };
  for (let pause = 100; ; pause = Math.min(pause * 2, 10_000)) {
    const response = await fetch(`${baseUrl}/operator/v1/${path}`, request).catch(() => undefined);
    const answer = (await response?.json().catch(() => undefined)) as Answer | undefined;
    if (response?.status === 200 && answer) return answer.results;
    const isPassing =
      !response ||
      !answer ||
      response.status >= 500 ||
      response.status === 429 ||
      answer.error === "idempotency_in_progress";
    if (!isPassing) throw new Error(`${answer.error}: ${answer.message}`);
    await setTimeout(Number(response?.headers.get("retry-after") ?? 0) * 1000 || pause);
  }
}
