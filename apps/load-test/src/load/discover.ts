import { bikeList, MAX_PAGE_SIZE, rideList, stationList } from "@bikeshare/contract";
import { request } from "undici";
import { apiRequest, type ApiRequest } from "../contract/endpoints.ts";
import type { World } from "./scenario.ts";

/** Items that are read of each list. More takes more of the key's requests and makes no difference to the load. */
const MAX_ITEMS = 30_000;

/** Reads what scenarios need to know of a service. @param key may read stations, bikes and rides */
export async function discoverWorld(url: string, key: string, needsBikes: boolean): Promise<World> {
  const stations = await idsOf(url, key, "stations.list", stationList);
  const bikes = needsBikes ? await idsOf(url, key, "bikes.list", bikeList) : [];
  const rides = rideList.parse(await read(url, key, apiRequest("rides.list", {})));
  return { stations, bikes, ridePages: rides.total_pages ?? 1 };
}

type ListSchema = typeof stationList | typeof bikeList;

async function idsOf(
  url: string,
  key: string,
  endpoint: "stations.list" | "bikes.list",
  schema: ListSchema,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = schema.parse(await read(url, key, apiRequest(endpoint, { query: { limit: MAX_PAGE_SIZE, cursor } })));
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
  } while (cursor !== undefined && ids.length < MAX_ITEMS);
  return ids;
}

async function read(url: string, key: string, { method, path }: ApiRequest): Promise<unknown> {
  const { statusCode, body } = await request(`${url.replace(/\/$/, "")}${path}`, {
    method: method as "GET",
    headers: { authorization: `Bearer ${key}` },
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${method} ${path} answered ${statusCode}: ${text}`);
  return JSON.parse(text) as unknown;
}
