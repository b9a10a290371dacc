import { bikeList, MAX_PAGE_SIZE, rideList, stationList } from "@bikeshare/contract";
import { apiRequest, type ApiRequest } from "../contract/endpoints.ts";
import { createHttpClient, type HttpClient } from "../http/client.ts";
import type { World } from "./scenario.ts";

/** Maximum items read of each list. Too high: uses up the key's rate limit without a benefit to the load. */
const MAX_ITEMS = 30_000;

/** Reads the ids that scenarios need from a service. @param key a key that may read stations, bikes and rides */
export async function discoverWorld(url: string, key: string, needsBikes: boolean): Promise<World> {
  const client = createHttpClient(url, { connections: 1 });
  try {
    const stations = await idsOf(client, key, "stations.list", stationList);
    const bikes = needsBikes ? await idsOf(client, key, "bikes.list", bikeList) : [];
    const rides = rideList.parse(await read(client, key, apiRequest("rides.list", {})));
    return { stations, bikes, ridePages: rides.total_pages ?? 1 };
  } finally {
    client.close();
  }
}

async function idsOf(
  client: HttpClient,
  key: string,
  endpoint: "stations.list" | "bikes.list",
  schema: typeof stationList | typeof bikeList,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: MAX_PAGE_SIZE, cursor };
    const page = schema.parse(await read(client, key, apiRequest(endpoint, { query })));
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
  } while (cursor !== undefined && ids.length < MAX_ITEMS);
  return ids;
}

async function read(client: HttpClient, key: string, request: ApiRequest): Promise<unknown> {
  const { status, outcome, body } = await client.ask({ ...request, key });
  if (status !== 200) throw new Error(`${request.method} ${request.path} answered ${outcome}: ${body}`);
  return JSON.parse(body) as unknown;
}
