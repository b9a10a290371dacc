import { BikeShare } from "@bikeshare/sdk";
import { createFakeBikeShare } from "@bikeshare/sdk/testing";

const fake = createFakeBikeShare({ stations: [{ id: "market" }], bikes: [{ id: "bike-1", station_id: "market" }] });
const client = new BikeShare(fake.options);

fake.script(["reset", "lost"]); // what becomes of the next two requests
const held = await client.reservations.create({ station_id: "market" }); // tried three times, held once
fake.advance(15 * 60_000); // a quarter of an hour later
const { status } = await client.reservations.get(held.id); // "expired"

const { request } = await fake.webhook("ride.completed"); // signed with fake.webhookSecret, for your receiver
console.log(status, request.url);
