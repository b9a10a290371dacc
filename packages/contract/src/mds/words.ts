/** The version of MDS that is served: https://github.com/openmobilityfoundation/mobility-data-specification. */
export const MDS_VERSION = "2.0.0";

/** The media type of every JSON response of MDS, except that of /mds/token. A request's `Accept` header must allow it. */
export const MDS_MEDIA_TYPE = "application/vnd.mds+json;version=2.0";

/** The media type of MDS's reports. A request's `Accept` header must allow it. */
export const MDS_REPORT_MEDIA_TYPE = "text/vnd.mds+csv;version=2.0";

/** The scope of an agency's key, and of no other key. */
export const MDS_SCOPE = "mds:read";

/** The states of a vehicle that the log of vehicle events stores, in MDS's words. */
export const mdsVehicleStates = [
  "removed",
  "available",
  "non_operational",
  "reserved",
  "on_trip",
  "non_contactable",
  "missing",
] as const;

export type MdsVehicleState = (typeof mdsVehicleStates)[number];

/** The event types that the log of vehicle events uses. `from`: the possible states before; `to`: the state after. */
export const mdsTransitions = [
  { from: ["removed", "non_contactable", "missing"], type: "provider_drop_off", to: "available" },
  { from: ["removed", "non_contactable", "missing"], type: "agency_drop_off", to: "available" },
  { from: ["available"], type: "reservation_start", to: "reserved" },
  { from: ["reserved"], type: "reservation_cancel", to: "available" },
  { from: ["available", "reserved"], type: "trip_start", to: "on_trip" },
  { from: ["on_trip"], type: "trip_end", to: "available" },
  { from: ["on_trip"], type: "trip_cancel", to: "available" },
  { from: ["available"], type: "battery_low", to: "non_operational" },
  { from: ["available"], type: "maintenance", to: "non_operational" },
  { from: ["available"], type: "off_hours", to: "non_operational" },
  { from: ["available"], type: "system_suspend", to: "non_operational" },
  { from: ["available", "non_contactable", "missing"], type: "unspecified", to: "non_operational" },
  { from: ["non_operational"], type: "battery_charged", to: "available" },
  { from: ["non_operational"], type: "maintenance", to: "available" },
  { from: ["non_operational"], type: "on_hours", to: "available" },
  { from: ["non_operational"], type: "system_resume", to: "available" },
  { from: ["non_operational", "non_contactable", "missing"], type: "unspecified", to: "available" },
  { from: ["available", "non_operational"], type: "compliance_pick_up", to: "removed" },
  { from: ["available", "non_operational"], type: "maintenance_pick_up", to: "removed" },
  { from: ["available", "non_operational"], type: "rebalance_pick_up", to: "removed" },
  { from: ["available", "non_operational", "non_contactable", "missing"], type: "agency_pick_up", to: "removed" },
  { from: ["available", "non_operational", "non_contactable", "missing"], type: "decommissioned", to: "removed" },
  { from: ["available", "non_operational", "non_contactable", "missing"], type: "unspecified", to: "removed" },
  {
    from: ["available", "non_operational", "on_trip", "removed", "reserved"],
    type: "comms_lost",
    to: "non_contactable",
  },
  { from: ["non_contactable"], type: "comms_restored", to: "available" },
  { from: ["non_contactable"], type: "comms_restored", to: "non_operational" },
  { from: ["non_contactable"], type: "comms_restored", to: "on_trip" },
  { from: ["non_contactable"], type: "comms_restored", to: "removed" },
  { from: ["non_contactable"], type: "comms_restored", to: "reserved" },
  { from: ["non_contactable"], type: "not_located", to: "missing" },
  { from: ["missing"], type: "located", to: "available" },
  { from: ["missing"], type: "located", to: "non_operational" },
  { from: ["missing"], type: "located", to: "on_trip" },
  { from: ["missing"], type: "located", to: "removed" },
  { from: ["missing"], type: "located", to: "reserved" },
] as const satisfies readonly {
  readonly from: readonly MdsVehicleState[];
  readonly type: string;
  readonly to: MdsVehicleState;
}[];

export type MdsEventType = (typeof mdsTransitions)[number]["type"];

/** Further transitions for an agency with a boundary: vehicles outside have the state `elsewhere`, which is not logged. */
const jurisdictionTransitions = [
  { from: ["on_trip"], type: "trip_leave_jurisdiction", to: "elsewhere" },
  { from: ["elsewhere"], type: "trip_enter_jurisdiction", to: "on_trip" },
  { from: ["non_contactable"], type: "unspecified", to: "elsewhere" },
  { from: ["missing"], type: "located", to: "elsewhere" },
  { from: ["elsewhere"], type: "rebalance_pick_up", to: "removed" },
] as const;

/** A state of a vehicle, as agencies read it. */
export type MdsToldState = MdsVehicleState | (typeof jurisdictionTransitions)[number]["to"];

/** A type of an event, as agencies read it. */
export type MdsToldType = MdsEventType | (typeof jurisdictionTransitions)[number]["type"];

/** The reasons that an operator can give for a vehicle's state, by state. */
export const mdsReasons = {
  available: ["battery_charged", "maintenance", "on_hours", "system_resume", "provider_drop_off", "agency_drop_off"],
  non_operational: ["battery_low", "maintenance", "off_hours", "system_suspend"],
  removed: ["compliance_pick_up", "maintenance_pick_up", "rebalance_pick_up", "agency_pick_up", "decommissioned"],
} as const satisfies { readonly [State in MdsVehicleState]?: readonly MdsEventType[] };

export type MdsReason = (typeof mdsReasons)[keyof typeof mdsReasons][number];

/** Groups of riders whose trips reports count by themselves, in MDS's words. */
export const mdsSpecialGroups = ["low_income", "adaptive_scooter"] as const;

/** Every state that agencies read. */
export const mdsToldStates = [...mdsVehicleStates, "elsewhere"] as const satisfies readonly MdsToldState[];

/** Every event type that agencies read, without repetitions. */
export const mdsToldTypes = [...new Set([...mdsTransitions, ...jurisdictionTransitions].map(({ type }) => type))] as [
  MdsToldType,
  ...MdsToldType[],
];

/** Event types whose events name the trips that they belong to. */
export const mdsTripEventTypes: ReadonlySet<MdsEventType> = new Set(["trip_start", "trip_end", "trip_cancel"]);

/** Tells whether a vehicle may change from one state to another by an event type. */
export function isMdsTransition(before: MdsVehicleState, type: MdsEventType, after: MdsVehicleState): boolean {
  return mdsTransitions.some(
    ({ from, type: name, to }) => name === type && to === after && (from as readonly string[]).includes(before),
  );
}
