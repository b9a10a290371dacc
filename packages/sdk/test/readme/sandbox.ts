import type { SandboxClient } from "@bikeshare/sdk/sandbox";

export async function expire(client: SandboxClient, station: string): Promise<string> {
  const held = await client.reservations.create({ station_id: station });
  await client.sandbox.advanceAndWait({ seconds: 900 }); // what fell due is done
  return (await client.reservations.get(held.id)).status; // "expired"
}
