import { once } from "node:events";
import { createServer } from "node:http";

/** Starts a feed on loopback that lists different stations each time it is read. */
export async function hostileStations({ stations, nameBytes }: { stations: number; nameBytes: number }) {
  let round = 0;
  // The time of the data in seconds since 1970, recent enough not to be stale.
  const begun = Math.floor(Date.now() / 1_000) - 1_000;
  const document = (list: readonly object[]) =>
    JSON.stringify({ last_updated: begun + round, ttl: 0, data: { stations: list } });
  const idsOf = () => Array.from({ length: stations }, (_, i) => `round-${round}-station-${i}`);
  const pages: Readonly<Record<string, () => string>> = {
    "/gbfs.json": () => {
      const feeds = ["station_information", "station_status"].map((name) => ({ name, url: `${name}.json` }));
      return JSON.stringify({ last_updated: 0, ttl: 0, data: { feeds } });
    },
    "/station_information.json": () => {
      round++;
      return document(
        idsOf().map((station_id, i) => ({
          ...{ station_id, name: `${i}`.padEnd(nameBytes, "x"), lat: 59 + i / 90_000, lon: 10.7, capacity: 20 },
        })),
      );
    },
    "/station_status.json": () =>
      document(
        idsOf().map((station_id, i) => ({
          ...{ station_id, is_installed: true, is_renting: true, is_returning: true },
          ...{ num_bikes_available: i % 20, num_docks_available: 20 - (i % 20), last_reported: begun },
        })),
      ),
  };
  const server = createServer((request, response) => {
    const page = pages[request.url ?? ""];
    if (page === undefined) response.writeHead(404).end();
    else response.end(page());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the feed has no port");
  return {
    url: `http://127.0.0.1:${address.port}/gbfs.json`,
    /** Returns how often the stations have been requested. */
    rounds: () => round,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
