import { type BikeShare, isApiError, isBikeShareError, type Reservation } from "@bikeshare/sdk";

export async function reserve(client: BikeShare, station: string): Promise<Reservation | undefined> {
  try {
    return await client.reservations.create({ station_id: station }, { totalTimeoutMs: 10_000 });
  } catch (error) {
    if (isApiError(error, "no_bike_available")) return undefined;
    if (isBikeShareError(error)) console.error(error.name, error.code, error.requestId, error.attempts);
    throw error;
  }
}
