import type { Region, VehicleType } from "../wire.generated.ts";
import type { City } from "./city.ts";

/** A vehicle type as it is described. What is left out stays as it was, or is not known. */
export type VehicleTypeFields = Partial<VehicleType> & Pick<VehicleType, "id">;

/** Says what a vehicle type is. */
export function putVehicleType({ vehicleTypes }: City, fields: VehicleTypeFields): void {
  vehicleTypes.set(fields.id, { ...(vehicleTypes.get(fields.id) ?? newVehicleType(fields.id)), ...fields });
}

/** Says what a region is called. */
export function putRegion({ regions }: City, region: Region): void {
  regions.set(region.id, region);
}

/** Every vehicle type that is described, or that a station, a bike or a ride names. */
export function vehicleTypesIn({ vehicleTypes, stations, bikes, rides }: City): VehicleType[] {
  const named = [
    ...[...stations.values()].flatMap(({ shown }) => shown.vehicle_types_available.map((type) => type.vehicle_type_id)),
    ...[...bikes.values()].map(({ reported }) => reported.vehicle_type_id),
    ...[...rides.values()].map((ride) => ride.vehicle_type_id),
  ];
  const ids = new Set([...vehicleTypes.keys(), ...named]);
  return [...ids].flatMap((id) => (id === null ? [] : (vehicleTypes.get(id) ?? newVehicleType(id))));
}

/** Every region that is named, or that a station is in. */
export function regionsIn({ regions, stations }: City): Region[] {
  const ids = new Set([...regions.keys(), ...[...stations.values()].map(({ shown }) => shown.region_id)]);
  return [...ids].flatMap((id) => (id === null ? [] : (regions.get(id) ?? { id, name: id })));
}

function newVehicleType(id: string): VehicleType {
  return { id, name: null, form_factor: null, propulsion_type: null, max_range_meters: null };
}
