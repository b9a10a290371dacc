import {
  alert,
  alertListQuery,
  alertType,
  bike,
  bikeListQuery,
  attemptOutcome,
  cancelReason,
  deliveryAttempt,
  deliveryDetail,
  deliveryListQuery,
  deliveryNames,
  deliveryOf,
  deliveryRecord,
  deliveryRecordList,
  deliveryStatus,
  endReason,
  errorBody,
  errorCodes,
  eventListQuery,
  eventNames,
  eventRecord,
  dayKinds,
  flow,
  flowList,
  flowQuery,
  fleetByState,
  forecastHorizons,
  forecastQuery,
  exportFile,
  exportFormatNames,
  exportKinds,
  exportListQuery,
  exportPrivacyNames,
  formFactor,
  health,
  historyStep,
  historySteps,
  me,
  offlineReason,
  propulsionType,
  region,
  regionListQuery,
  resend,
  resendOutcome,
  reservation,
  reservationListQuery,
  reservationExtension,
  reservationRequest,
  reservationStatus,
  ride,
  rideList,
  rideListQuery,
  riderCategory,
  rideStatus,
  scopeNames,
  station,
  stationForecast,
  stationTypical,
  summaryQuery,
  summaryStep,
  summarySteps,
  systemSummary,
  stationAt,
  stationHistory,
  stationHistoryQuery,
  stationListQuery,
  stationQuery,
  stationStatus,
  vehicleState,
  vehicleType,
  vehicleTypeListQuery,
} from "@bikeshare/contract";
import {
  clockRequest,
  eventRequest,
  faultRequest,
  resetRequest,
  sandboxClock,
  sandboxEvent,
  sandboxFaults,
  sandboxScenario,
  sandboxStatus,
  scenarioNames,
  webhookFaults,
} from "@bikeshare/contract/sandbox";
import type { z } from "zod";
import { eventSchemaName } from "../src/events.ts";
import { type Declaration, type Side, jsonTypes } from "./json-types.ts";

/** A generated file: its address and its text. */
export interface GeneratedFile {
  readonly url: URL;
  readonly text: string;
}

/** Returns the files with the types of the API's JSON. Published packages contain them, so that they need no zod. */
export function jsonTypeFiles(): readonly GeneratedFile[] {
  return [
    { url: new URL("../../sdk/src/json-types.generated.ts", import.meta.url), text: sdkTypes() },
    { url: new URL("../../sdk/src/sandbox-types.generated.ts", import.meta.url), text: sandboxTypes() },
    { url: new URL("../../webhooks/src/json-types.generated.ts", import.meta.url), text: webhookTypes() },
  ];
}

const heading = (what: string) =>
  `// ${what}\n// Made from packages/contract by \`pnpm --filter @bikeshare/sdk run generate\`. Do not edit here.`;

const names = (name: string, doc: string, values: readonly string[]): Declaration => ({
  kind: "names",
  name,
  doc,
  values,
});
const object = (name: string, schema: z.ZodTypeAny, side: Side = "answer"): Declaration => ({
  kind: "object",
  name,
  schema,
  side,
});

/** The types of the resources that events and deliveries carry. */
const resources: readonly Declaration[] = [
  names("StationStatus", "The states of a station.", stationStatus.options),
  names("OfflineReason", "Why a station is offline.", offlineReason.options),
  object("Station", station),
  names("RideStatus", "The states of a ride.", rideStatus.options),
  names("EndReason", "How a ride ended.", endReason.options),
  names("RiderCategory", "Kinds of riders.", riderCategory.options),
  object("Ride", ride),
  names("ReservationStatus", "The states of a reservation.", reservationStatus.options),
  names("CancelReason", "Who or what cancelled a reservation.", cancelReason.options),
  object("Reservation", reservation),
  names("VehicleState", "The states of a bike, in the words of MDS 2.0.", vehicleState.options),
  object("Bike", bike),
  names("AlertType", "What alerts are about, in the words of GBFS.", alertType.options),
  object("Alert", alert),
];

const MORE = "More are added over time: accept unknown ones.";

/** Returns the sets of string values, by the type name that every client uses, such as `RideStatus`. */
export function namedSets(): readonly Extract<Declaration, { kind: "names" }>[] {
  return [...resources, ...sdkDeclarations()].filter((declaration) => declaration.kind === "names");
}

function sdkTypes(): string {
  // The package has a copy of the webhooks package, which declares the resources.
  const imported = { from: "./webhooks.ts", declarations: resources };
  return jsonTypes(heading("The types of the API's JSON."), sdkDeclarations(), new Map(), imported);
}

function sdkDeclarations(): readonly Declaration[] {
  // The envelope of all lists is made from the list of rides, with a type parameter in the place of the ride.
  const item = new Map<z.ZodTypeAny, string>([[ride, "Item"]]);
  const envelope = jsonTypes("", [object("ListEnvelope<Item>", rideList)], item)
    .trim()
    .replace(RIDES_PAGE, "items");
  const records = Object.fromEntries(
    eventRecord.options.map((record) => [eventSchemaName(record.shape.event.value, "Event"), record]),
  );
  return [
    names("EventName", `The names of events known today. ${MORE}`, eventNames),
    {
      kind: "tagged",
      name: "EventRecord",
      doc: "Something that happened. Compare `event` with a name to know what `data` holds.",
      tagged: { tag: "event", content: "data", unknown: "UnknownEvent", members: records },
    },
    names("Scope", "What a key may be allowed.", scopeNames),
    names("FormFactor", "What vehicles look like, in the words of GBFS.", formFactor.options),
    names("PropulsionType", "What moves vehicles, in the words of GBFS.", propulsionType.options),
    object("VehicleType", vehicleType),
    object("Region", region),
    names("SummaryStepLength", "Lengths of a step of a summary.", summarySteps),
    object("FleetByState", fleetByState),
    object("SummaryStep", summaryStep),
    object("SystemSummary", systemSummary),
    object("Flow", flow),
    object("FlowList", flowList),
    names("DayKind", "Kinds of days.", dayKinds),
    object("StationTypical", stationTypical),
    names("ForecastHorizon", "How far ahead a forecast may look.", forecastHorizons),
    object("StationForecast", stationForecast),
    object("StationAt", stationAt),
    names("HistoryStepLength", "The lengths of a step of a station's history.", historySteps),
    object("HistoryStep", historyStep),
    object("StationHistory", stationHistory),
    object("Me", me),
    object("Health", health),
    names("ErrorCode", "The codes of errors known today. Decide by the status where you do not know one.", errorCodes),
    object("ErrorBody", errorBody),
    { kind: "text", text: envelope },
    names("ExportKind", "What files have a row of each.", exportKinds),
    names("ExportFormat", "The formats of files.", exportFormatNames),
    names("ExportPrivacy", "How much of rides files tell, the least first.", exportPrivacyNames),
    object("Export", exportFile),
    ...deliveryTypes(),
    ...requestTypes(),
  ];
}

/** Returns the types of deliveries and their attempts. */
function deliveryTypes(): Declaration[] {
  return [
    names("DeliveryStatus", "The states of a delivery.", deliveryStatus.options),
    names("AttemptOutcome", "How attempts end.", attemptOutcome.options),
    names("ResendOutcome", "What sending a delivery again comes to.", resendOutcome.options),
    object("DeliveryRecord", deliveryRecord),
    object("DeliveryAttempt", deliveryAttempt),
    object("DeliveryDetail", deliveryDetail),
    object("DeliveryRecordList", deliveryRecordList),
    object("Resend", resend),
  ];
}

/** Returns the types of what callers send: queries and bodies. */
function requestTypes(): Declaration[] {
  return [
    object("StationListQuery", stationListQuery, "request"),
    object("StationQuery", stationQuery, "request"),
    object("StationHistoryQuery", stationHistoryQuery, "request"),
    object("RideListQuery", rideListQuery, "request"),
    object("BikeListQuery", bikeListQuery, "request"),
    object("VehicleTypeListQuery", vehicleTypeListQuery, "request"),
    object("RegionListQuery", regionListQuery, "request"),
    object("AlertListQuery", alertListQuery, "request"),
    object("ExportListQuery", exportListQuery, "request"),
    object("DeliveryListQuery", deliveryListQuery, "request"),
    object("ReservationListQuery", reservationListQuery, "request"),
    object("EventListQuery", eventListQuery, "request"),
    object("SummaryQuery", summaryQuery, "request"),
    object("FlowQuery", flowQuery, "request"),
    object("ForecastQuery", forecastQuery, "request"),
    object("ReservationRequest", reservationRequest, "request"),
    object("ReservationExtension", reservationExtension, "request"),
  ];
}

/** The sets of string values of the sandbox's interface, by the type name that every client uses. */
export const sandboxSets: readonly Extract<Declaration, { kind: "names" }>[] = [
  { kind: "names", name: "SandboxEventName", doc: "What a sandbox can cause.", values: deliveryNames },
  { kind: "names", name: "SandboxScenarioName", doc: "The scenarios that a sandbox plays.", values: scenarioNames },
];

function sandboxTypes(): string {
  return jsonTypes(heading("The types of the sandbox's JSON."), [
    ...sandboxSets,
    object("SandboxStatus", sandboxStatus),
    object("SandboxReset", resetRequest, "request"),
    object("SandboxEvent", sandboxEvent),
    object("SandboxEventRequest", eventRequest, "request"),
    object("SandboxScenario", sandboxScenario),
    object("SandboxClock", sandboxClock),
    object("SandboxClockRequest", clockRequest, "request"),
    object("SandboxFaults", sandboxFaults),
    object("SandboxFaultRequest", faultRequest, "request"),
    object("SandboxWebhookFaults", webhookFaults),
  ]);
}

/** The word `rides` in the description of the list of rides. The envelope of all lists says `items` instead. */
const RIDES_PAGE = /(?<=One page of )rides/;

function webhookTypes(): string {
  const deliveries = Object.fromEntries(
    deliveryNames.map((name) => [eventSchemaName(name, "Delivery"), deliveryOf(name)]),
  );
  return jsonTypes(heading("What deliveries carry, as types."), [
    ...resources,
    names("EventName", `What can be delivered today. ${MORE}`, deliveryNames),
    {
      kind: "tagged",
      name: "Delivery",
      doc: "The body of a delivery. Compare `event` with a name to know what `data` holds.",
      tagged: { tag: "event", content: "data", unknown: "UnknownDelivery", members: deliveries },
    },
  ]);
}
