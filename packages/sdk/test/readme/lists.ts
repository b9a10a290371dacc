import type { BikeShare, Ride } from "@bikeshare/sdk";

export async function lists(client: BikeShare, checkpoint: string | undefined): Promise<string | undefined> {
  const page = await client.rides.list({ status: "completed", limit: 20 }); // one page
  console.log(page.data.length, page.total_pages);

  const all = client.rides.list({ station_id: "market" });
  for await (const ride of all) console.log(ride.id); // all of them, page by page

  const first: Ride[] = await client.rides.list().toArray({ limit: 500 });
  console.log(first.at(-1)?.started_at);

  const begin = client.rides.list({ started_before: "2026-06-01T00:00:00Z" });
  const past = checkpoint === undefined ? begin : begin.resumeFrom(checkpoint); // where the last run was interrupted
  for await (const ride of past) if (ride.status === "started") break;
  return past.checkpoint();
}
