import type { Bike } from "@bikeshare/contract";
import { Status, type Tone } from "../../components/status.tsx";

const tones: Readonly<Record<Bike["vehicle_state"], Tone>> = {
  available: "success",
  reserved: "info",
  on_trip: "progress",
  non_operational: "warning",
  non_contactable: "warning",
  missing: "danger",
  removed: "neutral",
};

/** The state of a bike in words: `on_trip` is shown as "on trip". */
export function BikeState({ state }: { readonly state: Bike["vehicle_state"] }) {
  return <Status tone={tones[state]}>{state.replaceAll("_", " ")}</Status>;
}
