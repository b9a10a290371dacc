// A partner's program in JavaScript, for any runtime. It uses the client, the fake as a server, and webhooks, and prints the
// results.
import { BikeShare, isApiError, isBikeShareError } from "@bikeshare/sdk";
import { createFakeBikeShare } from "@bikeshare/sdk/testing";
import { validateResponse } from "@bikeshare/sdk/validate";
import { verify } from "@bikeshare/sdk/webhooks";

const ids = Array.from({ length: 250 }, (_, n) => `station-${n}`);
const fake = createFakeBikeShare({
  stations: ids.map((id) => ({ id })),
  bikes: [{ id: "bike-1", station_id: "station-7" }],
});
const server = await fake.listen();
try {
  const client = new BikeShare({ baseUrl: server.url, apiKey: fake.apiKey, validate: validateResponse });
  const stations = await client.stations.list().toArray({ limit: Infinity });
  fake.script(["lost"]);
  const held = await client.reservations.create({ station_id: "station-7" });
  const refused = await client.reservations.create({ station_id: "station-7" }).catch((error) => error);
  const { status } = await client.reservations.cancel(held.id);
  const events = await client.events.since(undefined).toArray({ limit: 10 });
  const { body, headers } = await fake.webhook(events[0]);
  const delivery = await verify(body, headers["Service-Signature"], fake.webhookSecret);
  const result = {
    stations: new Set(stations.map(({ id }) => id)).size,
    bike: held.bike_id,
    refused: isBikeShareError(refused) && isApiError(refused, "no_bike_available"),
    status,
    events: events.map(({ event }) => event),
    delivery: delivery.event,
  };
  process.stdout.write(JSON.stringify(result));
} finally {
  await server.close();
}
