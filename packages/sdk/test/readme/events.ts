import { type BikeShare, CheckpointLostError } from "@bikeshare/sdk";

/** Takes what happened since the last time; gives the checkpoint for the next. */
export async function catchUp(client: BikeShare, checkpoint: string | undefined): Promise<string | undefined> {
  const events = client.events.since(checkpoint);
  try {
    for await (const event of events) {
      if (event.event === "ride.completed") console.log(event.data.duration_seconds); // `data` is a ride here
    }
  } catch (error) {
    if (!(error instanceof CheckpointLostError)) throw error;
    console.log("Away for more than 30 days: read the resources anew."); // then begin without a checkpoint
    return undefined;
  }
  return events.checkpoint();
}
