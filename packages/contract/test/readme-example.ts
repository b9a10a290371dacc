import { MAX_PAGE_SIZE, partnerContract, type Ride } from "@bikeshare/contract";
import { initClient } from "@ts-rest/core";

/** Every completed ride, newest first. */
export async function* completedRides(baseUrl: string, apiKey: string): AsyncGenerator<Ride> {
  const client = initClient(partnerContract, { baseUrl, baseHeaders: { authorization: `Bearer ${apiKey}` } });
  let cursor: string | undefined;
  do {
    const { status, body } = await client.rides.list({ query: { status: "completed", limit: MAX_PAGE_SIZE, cursor } });
    if (status !== 200) throw new Error(`${status} ${body.error}: ${body.message}`);
    yield* body.data;
    cursor = body.next_cursor;
  } while (cursor !== undefined);
}
