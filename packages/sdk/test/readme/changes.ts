import { type Bike, type BikeShare, CheckpointLostError } from "@bikeshare/sdk";

/** Brings a copy of the bikes up to date; gives the checkpoint for the next time. */
export async function mirror(
  client: BikeShare,
  copy: Map<string, Bike>,
  checkpoint?: string,
): Promise<string | undefined> {
  const changes = client.bikes.changesSince(checkpoint); // without a checkpoint: all bikes
  try {
    for await (const bike of changes) {
      if (bike.vehicle_state === "removed") copy.delete(bike.id);
      else copy.set(bike.id, bike);
    }
  } catch (error) {
    if (!(error instanceof CheckpointLostError)) throw error;
    copy.clear(); // some changes can no longer be told, for example after a restore: begin anew
    return undefined;
  }
  return changes.checkpoint();
}
