import { createServer } from "node:http";
import { BikeShare, isApiError } from "@bikeshare/sdk";
import { verify } from "@bikeshare/sdk/webhooks";

const { BIKESHARE_BASE_URL: baseUrl = "", BIKESHARE_API_KEY: apiKey = "", WEBHOOK_SECRET = "" } = process.env;
const client = new BikeShare({ baseUrl, apiKey });

for await (const station of client.stations.list()) {
  console.log(`${station.name}: ${station.num_bikes_available} bikes`);
}

let rides = 0;
for await (const ride of client.rides.list()) if (ride.status === "completed") rides++;
console.log(`${rides} completed rides`);

try {
  const [bike] = await client.bikes.list({ vehicle_state: "available" }).toArray({ limit: 1 });
  if (bike === undefined) throw new Error("no bike is available");
  const held = await client.reservations.create({ bike_id: bike.id, hold_minutes: 5 });
  const { status } = await client.reservations.cancel(held.id);
  console.log(`held bike ${held.bike_id}, then ${status}`);
} catch (error) {
  if (!isApiError(error, "bike_not_available")) throw error;
  console.log("somebody was faster");
}

const receiver = createServer(async (request, response) => {
  try {
    const body = Buffer.concat(await request.toArray());
    const delivery = await verify(body, request.headers["service-signature"], WEBHOOK_SECRET);
    console.log(`webhook ${delivery.event}`);
    response.writeHead(200).end();
  } catch {
    response.writeHead(400).end();
  }
});
receiver.listen(Number(process.env["PORT"] ?? 4000), () => console.log("listening"));
