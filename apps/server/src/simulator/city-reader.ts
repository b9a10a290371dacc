import {
  type Bike,
  bikeList,
  MAX_PAGE_SIZE,
  type Ride,
  rideList,
  type Station,
  stationList,
} from "@bikeshare/contract";

/** A system as the service shows it to a partner. */
export interface SeenCity {
  readonly stations: ReadonlyMap<string, Station>;
  readonly bikes: ReadonlyMap<string, Bike>;
  /** Rides under way. */
  readonly rides: readonly Ride[];
}

/** What reads a page: a schema of the contract. */
interface PageSchema<Item> {
  parse(body: unknown): { readonly data: Item[]; readonly next_cursor?: string | undefined };
}

/** Reads a whole system with a partner's key. @throws when the service refuses */
export async function readCity(baseUrl: string, partnerKey: string): Promise<SeenCity> {
  const walk = <Item>(path: string, schema: PageSchema<Item>) => walkList(`${baseUrl}${path}`, partnerKey, schema);
  const stations = await walk("/v1/stations", stationList);
  const bikes = await walk("/v1/bikes", bikeList);
  const rides = await walk("/v1/rides?status=started", rideList);
  return {
    stations: new Map(stations.map((station) => [station.id, station])),
    bikes: new Map(bikes.map((bike) => [bike.id, bike])),
    rides,
  };
}

async function walkList<Item>(address: string, key: string, schema: PageSchema<Item>): Promise<Item[]> {
  const items: Item[] = [];
  const url = new URL(address);
  url.searchParams.set("limit", String(MAX_PAGE_SIZE));
  for (;;) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    if (!response.ok) throw new Error(`GET ${url.pathname}: ${response.status} ${await response.text()}`);
    const page = schema.parse(await response.json());
    items.push(...page.data);
    if (page.next_cursor === undefined) return items;
    url.searchParams.set("cursor", page.next_cursor);
  }
}
