import { mdsContract, mdsTrip } from "@bikeshare/contract/mds";
import { expect, test } from "vitest";
import { leaveOut } from "./left-out.rules.ts";
import { answerRequirements, leftOutFields, readRequirements } from "./requirements.rules.ts";

const OURS = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
const OTHERS = "11111111-1111-4111-8111-111111111111";

const mds = (version: string, endpoints: object[], api = "provider") => ({
  ...{ data_spec_name: "MDS", version, mode_id: "micromobility" },
  required_apis: [{ api_name: api, required_endpoints: endpoints }],
});
const gbfs = (version: string, endpoints: object[]) => ({
  ...{ data_spec_name: "GBFS", version },
  required_apis: [{ required_endpoints: endpoints }],
});
const program = (specs: object[], more: object = {}) => ({
  ...{ description: "Bikes", provider_ids: [], start_date: "1700000000", end_date: null, required_data_specs: specs },
  ...more,
});
const file = (...programs: object[]) =>
  readRequirements({ metadata: { mds_release: "2.0.1", agency_name: "Springfield", agency_id: OTHERS }, programs });
const answersOf = (requirements: ReturnType<typeof file>, endpoint: string) => {
  const { programs } = answerRequirements(requirements, OURS);
  const found = programs.flatMap(({ endpoints }) => endpoints).find((each) => each.endpoint === endpoint);
  return { ...found, fields: Object.fromEntries((found?.fields ?? []).map(({ field, status }) => [field, status])) };
};

test("each field that MDS or the file asks for is given, missing or disallowed", () => {
  const trips = {
    endpoint_name: "trips",
    required_fields: ["parking_category", "vehicle_name"],
    disallowed_fields: ["duration", "route"],
  };
  const { fields, status } = answersOf(file(program([mds("2.0.1", [trips])])), "trips");
  const given = Object.fromEntries(Object.keys(mdsTrip.shape).map((name) => [name, "given"]));
  expect(fields).toEqual({ ...given, vehicle_name: "missing", duration: "disallowed", route: "disallowed" });
  expect(status).toBe("given");
});

test("every list of records of the contract answers with its own fields", () => {
  const paths = Object.values(mdsContract).flatMap(({ path, method }) =>
    method === "GET" && !path.includes(":") ? [path] : [],
  );
  const endpoints = paths.map((path) => ({ endpoint_name: path.replace("/mds/", "") }));
  expect(endpoints.length).toBeGreaterThan(6);
  for (const { endpoints: answers } of answerRequirements(file(program([mds("2.0", endpoints)])), OURS).programs)
    for (const { endpoint, status, fields } of answers)
      expect([endpoint, status, fields.length > 3 && fields.every((each) => each.status === "given")]).toEqual([
        ...[endpoint, "given", true],
      ]);
});

test("words of MDS 1, parts of fields and feeds of GBFS are looked up too, and what is not served is missing", () => {
  const requirements = file(
    program([
      mds("1.2", [
        { endpoint_name: "status_changes", required_fields: ["event_types.trip_start", "event_types.teleport"] },
      ]),
      mds("2.0.1", [{ endpoint_name: "policies" }, { endpoint_name: "stops", required_fields: ["status.is_renting"] }]),
      mds("2.0.1", [{ endpoint_name: "trips" }], "agency"),
      gbfs("2.3", [{ endpoint_name: "free_bike_status.json", required_fields: ["is_reserved", "colour"] }]),
      gbfs("1.0", [{ endpoint_name: "gbfs.json" }]),
    ]),
  );
  expect(answersOf(requirements, "status_changes").fields).toMatchObject({
    ...{ "event_types.trip_start": "given", "event_types.teleport": "missing", timestamp: "given" },
  });
  expect(answersOf(requirements, "stops").fields).toMatchObject({ "status.is_renting": "given" });
  expect(answersOf(requirements, "free_bike_status.json")).toMatchObject({
    ...{ status: "given", fields: { is_reserved: "given", colour: "missing" } },
  });
  for (const endpoint of ["policies", "trips", "gbfs.json"])
    expect(answersOf(requirements, endpoint).status).toBe("missing");
});

test("an endpoint or a field of any name is missing when it is not served, also one that every object has", () => {
  for (const name of ["constructor", "__proto__"]) {
    const requirements = file(
      program([
        mds("2.0.1", [{ endpoint_name: name }, { endpoint_name: "trips", required_fields: [name] }]),
        gbfs("2.3", [{ endpoint_name: "free_bike_status", required_fields: [name] }]),
      ]),
    );
    expect(answersOf(requirements, name)).toEqual({
      ...{ spec: "MDS", version: "2.0.1", api: "provider", endpoint: name, status: "missing", fields: {} },
    });
    for (const endpoint of ["trips", "free_bike_status"])
      expect(Object.entries(answersOf(requirements, endpoint).fields)).toContainEqual([name, "missing"]);
  }
});

test("what any program about this operator disallows is left out, also of the records within others", () => {
  const events = { endpoint_name: "events", disallowed_fields: ["location"] };
  const requirements = file(
    program([mds("2.0.1", [events])], { provider_ids: [OTHERS, OURS.toUpperCase()] }),
    program([mds("2.0.1", [{ endpoint_name: "trips", disallowed_fields: ["distance"] }])]),
    program([mds("2.0.1", [{ endpoint_name: "vehicles", disallowed_fields: ["vehicle_id"] }])], {
      provider_ids: [OTHERS],
    }),
    program([mds("2.0.1", [{ endpoint_name: "trips", disallowed_fields: ["trip_id"] }], "agency")]),
  );
  expect(leftOutFields(requirements, OURS)).toEqual({
    ...{ events: ["location"], vehicles_status: ["last_event.location"], trips: ["distance"] },
  });
  const { programs } = answerRequirements(requirements, OURS);
  expect(programs.map(({ is_ours: isOurs }) => isOurs)).toEqual([true, true, false, true]);
});

test("a field of GBFS stays given where a file disallows it, because the feeds are public", () => {
  const requirements = file(
    program([
      gbfs("2.3", [
        { endpoint_name: "free_bike_status", disallowed_fields: ["lat", "colour"] },
        { endpoint_name: "station_information", required_fields: ["lat", "colour"] },
      ]),
    ]),
  );
  expect(leftOutFields(requirements, OURS)).toEqual({});
  expect(answersOf(requirements, "free_bike_status").fields).toEqual({ lat: "given", colour: "disallowed" });
  expect(answersOf(requirements, "station_information").fields).toEqual({ lat: "given", colour: "missing" });
});

test("a name is left out at every depth, a path at its own place alone", () => {
  const status = { last_event: { location: 1, id: 2 }, last_telemetry: { location: 1 }, location: 3 };
  expect(leaveOut(["location"], status)).toEqual({ last_event: { id: 2 }, last_telemetry: {} });
  expect(leaveOut(["last_event.location"], status)).toEqual({ ...status, last_event: { id: 2 } });
  expect(leaveOut(["id"], [status])).toEqual([{ ...status, last_event: { location: 1 } }]);
  expect(leaveOut(undefined, status)).toBe(status);
});

test.each([[{}], [[]], [null], [{ programs: [{ provider_ids: "all" }] }]])("%j is no requirement file", (document) => {
  expect(() => readRequirements(document)).toThrow("is no requirement file of MDS");
});
