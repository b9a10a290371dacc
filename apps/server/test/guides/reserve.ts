import { setTimeout } from "node:timers/promises";
import type { Reservation } from "@bikeshare/contract";

type Answer = Reservation & { error?: string; message?: string };

/** Reserves a bike of a station; undefined when it has none at present. */
export async function reserve(baseUrl: string, apiKey: string, stationId: string, riderRef: string) {
  const request = {
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      "idempotency-key": crypto.randomUUID(),
    },
    body: JSON.stringify({ station_id: stationId, rider_ref: riderRef }),
  };
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(`${baseUrl}/v1/reservations`, request).catch(() => undefined);
    const answer = (await response?.json().catch(() => undefined)) as Answer | undefined;
    if (response?.status === 201 && answer) return answer;
    if (answer?.error === "no_bike_available" || answer?.error === "station_offline") return undefined;
    const isPassing = !response || !answer || response.status >= 500 || answer.error === "idempotency_in_progress";
    if (!isPassing || attempt === 5) throw new Error(answer ? `${answer.error}: ${answer.message}` : "no answer");
    await setTimeout(200 * 2 ** attempt);
  }
}
