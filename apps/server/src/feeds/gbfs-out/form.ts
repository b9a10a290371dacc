/** How a version of GBFS writes what all versions say. */
export interface GbfsForm {
  readonly version: "2.3" | "3.0";
  readonly names: {
    /** Of the feed of vehicles, of the list in it, and of a vehicle's id. */
    readonly vehicleFeed: "free_bike_status" | "vehicle_status";
    readonly vehicles: string;
    readonly vehicleId: string;
    readonly available: string;
    readonly disabled: string;
  };
  /** A text that people read. */
  readonly text: (text: string, language: string) => unknown;
  /** An instant, to the second. */
  readonly instant: (at: Date) => number | string;
}

export const form23: GbfsForm = {
  version: "2.3",
  names: {
    vehicleFeed: "free_bike_status",
    vehicles: "bikes",
    vehicleId: "bike_id",
    available: "num_bikes_available",
    disabled: "num_bikes_disabled",
  },
  text: (text) => text,
  instant: (at) => Math.floor(at.getTime() / 1000),
};

export const form30: GbfsForm = {
  version: "3.0",
  names: {
    vehicleFeed: "vehicle_status",
    vehicles: "vehicles",
    vehicleId: "vehicle_id",
    available: "num_vehicles_available",
    disabled: "num_vehicles_disabled",
  },
  text: (text, language) => [{ text, language }],
  instant: (at) => `${at.toISOString().slice(0, -".000Z".length)}Z`,
};

/** Every version that is published, oldest first. */
export const forms: readonly GbfsForm[] = [form23, form30];

/** The earliest instant that GBFS 2.3 lets a feed name: 15 December 2015, before which there was no GBFS. */
export const EARLIEST = 1_450_155_600_000;
