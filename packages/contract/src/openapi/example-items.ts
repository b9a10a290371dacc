import type {
  BikeReport,
  BikeUpsert,
  PastRideUpsert,
  RideCancel,
  RideCorrection,
  RideEnd,
  RideStart,
  StationCommand,
  StationUpsert,
} from "../operator-items.ts";
import { correctedRide, exampleBike, exampleRide, exampleStation } from "./example-resources.ts";

export const stationUpsert: StationUpsert = {
  id: exampleStation.id,
  name: exampleStation.name,
  lat: exampleStation.lat,
  lon: exampleStation.lon,
  capacity: exampleStation.capacity,
};

export const stationCommand: StationCommand = { id: exampleStation.id };

export const bikeUpsert: BikeUpsert = {
  id: exampleBike.id,
  number: exampleBike.number,
  vehicle_type_id: exampleBike.vehicle_type_id,
  vehicle_state: "available",
  station_id: exampleStation.id,
};

export const bikeReport: BikeReport = {
  id: exampleBike.id,
  at: "2026-03-14T08:20:26Z",
  vehicle_state: "non_operational",
  lat: 40.7359381,
  lon: -74.0303054,
  current_range_meters: 21400,
};

export const rideStart: RideStart = {
  id: exampleRide.id,
  bike_id: exampleRide.bike_id,
  started_at: "2026-03-14T08:02:11Z",
  start_station_id: exampleRide.start_station_id,
  rider_category: exampleRide.rider_category,
};

export const rideEnd: RideEnd = {
  id: exampleRide.id,
  ended_at: "2026-03-14T08:20:26Z",
  end_station_id: exampleRide.end_station_id,
  distance_meters: exampleRide.distance_meters,
};

export const rideCancel: RideCancel = { id: exampleRide.id, cancelled_at: "2026-03-14T08:02:31Z" };

export const rideCorrection: RideCorrection = {
  id: exampleRide.id,
  end_station_id: exampleRide.end_station_id,
  distance_meters: correctedRide.distance_meters,
};

export const pastRide: PastRideUpsert = {
  id: "2025-000001",
  bike_id: exampleRide.bike_id,
  started_at: "2025-06-01T09:14:02+02:00",
  ended_at: "2025-06-01T09:31:40+02:00",
  start_station_id: exampleStation.id,
  end_station_id: "HB103",
};
