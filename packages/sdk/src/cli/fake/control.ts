import type { FakeBikeShare, ListenOptions, Script, ScriptedAnswer, ScriptOptions } from "../../testing.ts";
import { blank } from "../../testing/contract.generated.ts";
import { unknownNames } from "../../testing/rules.ts";

/*
 * The requests with which a program controls the fake service that the command `fake` runs, such as `POST /fake/script`
 * (docs/local-testing.md). Each is a key of `routesOf`.
 */

type Fields = Readonly<Record<string, unknown>>;

/** One control request: something that a program can tell the fake to do. */
interface Control {
  /** The fields that the request's body may have. The fields of a resource come from the contract. */
  readonly fields: readonly string[];
  readonly run: (body: Fields) => unknown;
}
type Routes = Readonly<Record<string, Control>>;

const PREFIX = "/fake";

/** What the command `fake` was given. */
export interface ControlOptions {
  /** The receiver's address for `POST /fake/webhooks`; undefined: none was given, and that request fails. */
  readonly target: URL | undefined;
  /** The machine's clock, by which a receiver checks a signature. The fake's own clock may have been moved. */
  readonly clock: () => number;
}

/**
 * Returns the handler of the paths below `/fake`, with which programs in any language control a fake over HTTP. It reads
 * every body as JSON and ignores the content type, because `curl -d` sends another one.
 */
export function createControl(fake: FakeBikeShare, options: ControlOptions): NonNullable<ListenOptions["instead"]> {
  const routes = routesOf(fake, options);
  return async ({ method, url: { pathname }, body }) => {
    // Undefined: the fake answers the request itself.
    if (pathname !== PREFIX && !pathname.startsWith(`${PREFIX}/`)) return undefined;
    const headers = { "content-type": "application/json" };
    const answer = (status: number, value: unknown) => ({ status, headers, body: `${JSON.stringify(value)}\n` });
    const route = routes[`${method} ${pathname}`];
    if (route === undefined) {
      return answer(404, { error: "not_found", message: `GET ${PREFIX} lists what the fake can be told to do.` });
    }
    try {
      return answer(200, (await route.run(readFields(body, route.fields))) ?? {});
    } catch (error) {
      return answer(400, { error: "invalid_request", message: error instanceof Error ? error.message : String(error) });
    }
  };
}

function routesOf(fake: FakeBikeShare, options: ControlOptions): Routes {
  const { operator } = fake;
  const scripts = new Set<Script>();
  /** Returns the names of a resource's fields: the keys of its blank. */
  const fieldsOf = (resource: keyof typeof blank) => Object.keys(blank[resource]);
  /** Makes a control request that takes a body with these fields. */
  const control = (fields: readonly string[], run: Control["run"]): Control => ({ fields, run });
  const routes: Routes = {
    "GET /fake": control([], () => ({ requests: Object.keys(routes) })),
    "GET /fake/requests": control([], () => ({ data: fake.requests })),
    "POST /fake/script": control(["answers", "match", "repeat"], (body) => {
      const script = fake.script(answersIn(body), optionsIn(body));
      scripts.add(script);
      return { left: script.left() };
    }),
    "DELETE /fake/script": control([], () => {
      for (const script of scripts) script.stop();
      scripts.clear();
    }),
    "POST /fake/advance": control(["ms"], ({ ms }) => {
      fake.advance(Number(ms));
      return { now: new Date(fake.now()).toISOString() };
    }),
    "POST /fake/keys": control(["scopes", "rateLimit", "partner", "expiresAt"], (body) => ({
      key: fake.issueKey(body),
    })),
    "DELETE /fake/keys": control(["key"], (body) => fake.revokeKey(textIn(body, "key"))),
    "POST /fake/stations": control(fieldsOf("Station"), (body) => operator.putStation(withText(body, "id"))),
    "POST /fake/stations/offline": control(["id"], (body) => operator.takeOffline(textIn(body, "id"))),
    "POST /fake/stations/online": control(["id"], (body) => operator.bringOnline(textIn(body, "id"))),
    "POST /fake/stations/remove": control(["id"], (body) => operator.removeStation(textIn(body, "id"))),
    "POST /fake/bikes": control(fieldsOf("Bike"), (body) => operator.putBike(withText(body, "id"))),
    "POST /fake/rides": control(fieldsOf("Ride"), (body) => operator.putRide(withText(body, "id", "bike_id"))),
    "POST /fake/rides/start": control(["id", "bike_id", "rider_category"], (body) =>
      operator.startRide(withText(body, "bike_id")),
    ),
    "POST /fake/rides/end": control(["id", "end_station_id", "distance_meters", "end_reason"], (body) =>
      operator.endRide(withText(body, "id")),
    ),
    "POST /fake/rides/cancel": control(["id"], (body) => operator.cancelRide(textIn(body, "id"))),
    "POST /fake/rides/correct": control(["id", "ended_at", "end_station_id", "distance_meters"], (body) =>
      operator.correctRide(withText(body, "id")),
    ),
    "POST /fake/events": control(["event", "data", "id", "occurred_at"], (body) =>
      operator.putEvent({ data: {}, ...withText(body, "event") }),
    ),
    "POST /fake/webhooks": control(["event", "data", "secret", "deliveryId", "age"], (body) =>
      sendExample(fake, options, body),
    ),
  };
  return routes;
}

/** POSTs one example to the receiver. @returns what the receiver answered */
async function sendExample(fake: FakeBikeShare, { target, clock }: ControlOptions, body: Fields): Promise<object> {
  if (target === undefined) throw new Error("Start the fake with --webhook-url <URL>: nothing says where to send it.");
  const { event, age = 0, ...options } = withText(body, "event");
  // The receiver checks the signature by the machine's clock, but the fake signs by its own. The age (milliseconds
  // before the fake's clock) takes back by how much the fake's clock has been moved ahead.
  const moved = fake.now() - clock();
  type Name = Parameters<FakeBikeShare["webhook"]>[0];
  const { request } = await fake.webhook(event as Name & string, {
    ...options,
    age: Number(age) + moved,
    url: target.href,
  });
  const response = await fetch(request, { redirect: "manual" });
  return { status: response.status, body: await response.text() };
}

/** Parses a body. @throws Error if it is not an object or has unknown fields, which the service rejects too */
function readFields(text: string, allowed: readonly string[]): Fields {
  if (text === "") return {};
  const body = JSON.parse(text) as unknown;
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw new Error("The body must be an object.");
  const unknown = Object.keys(body).filter((name) => !allowed.includes(name));
  if (unknown.length > 0) throw new Error(`${unknownNames(unknown, "field", " of the body")}.`);
  return body as Fields;
}

/** Reads the answers of a script. `ScriptedAnswer` explains the names. A number is short for `{ status }`. */
function answersIn({ answers }: Fields): ScriptedAnswer[] {
  if (!Array.isArray(answers)) throw new Error('answers must be an array: {"answers": [503, "reset"]}');
  return answers.map((answer: unknown): ScriptedAnswer => {
    if (typeof answer === "number" && Number.isInteger(answer) && answer >= 200 && answer <= 599) {
      return { status: answer };
    }
    const isNamed = ["pass", "reset", "lost", "hang"].includes(String(answer));
    const isObject = typeof answer === "object" && answer !== null && ("status" in answer || "delay" in answer);
    if (isNamed || isObject) return answer as ScriptedAnswer;
    throw new Error(`${JSON.stringify(answer)} is neither a status nor "pass", "reset", "lost", "hang" or an object.`);
  });
}

function optionsIn({ match, repeat = false }: Fields): ScriptOptions {
  return { match: match as ScriptOptions["match"], repeat: repeat === true };
}

/** Returns the text in a field. @throws Error if it is empty or not a text */
function textIn(body: Fields, name: string): string {
  const value = body[name];
  if (typeof value !== "string" || value === "") throw new Error(`${name} must be a string.`);
  return value;
}

/** Checks that a body has non-empty strings in these fields, and returns it. */
function withText<Name extends string>(body: Fields, ...names: readonly Name[]): Fields & Record<Name, string> {
  for (const name of names) textIn(body, name);
  return body as Fields & Record<Name, string>;
}
