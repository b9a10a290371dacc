/** The shapes of vehicles, in the words of GBFS. */
export const formFactors = [
  "bicycle",
  "cargo_bicycle",
  "car",
  "moped",
  "scooter_standing",
  "scooter_seated",
  "other",
] as const;

/** The propulsion of vehicles, in the words of GBFS. */
export const propulsionTypes = [
  "human",
  "electric_assist",
  "electric",
  "combustion",
  "combustion_diesel",
  "hybrid",
  "plug_in_hybrid",
  "hydrogen_fuel_cell",
] as const;
